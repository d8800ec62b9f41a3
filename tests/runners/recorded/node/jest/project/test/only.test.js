it("hidden", () => {}); it.only("seen", () => {});
