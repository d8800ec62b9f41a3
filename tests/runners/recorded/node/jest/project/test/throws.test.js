it("x", () => {}); throw new Error("at top");
