const x = require("../src/nothere"); it("x", () => {});
