it("x", () => { let a = ; });
