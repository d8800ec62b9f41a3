from __future__ import annotations

import pytest

from verdigris.core.paths import Classes, PathClass, classify
from verdigris.core.settings import Settings, Stack
from verdigris.languages.conventions import compile_classes
from verdigris.languages.registry import usual

SWITCH, TEST, SPEC, SOURCE, OTHER = PathClass


def of(language: str, runner: str = "junit", root: str = ".") -> Classes:
    return compile_classes(Settings(stacks=(Stack(root=root, language=language, runner=runner),)), {}, usual)


VITEST, JEST, NODE = of("node", "vitest"), of("node", "jest"), of("node", "node-test")
RUST, GO = of("rust", "cargo"), of("go", "go")
JAVA, PHP, RUBY, SWIFT = of("java"), of("php"), of("ruby"), of("swift")
CSHARP = of("csharp")


@pytest.mark.parametrize("classes", [VITEST, JEST, NODE])
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/a.ts", SOURCE),
        ("index.js", SOURCE),
        ("lib/build/a.mjs", SOURCE),
        ("src/build/a.ts", SOURCE),
        ("app/out/page.tsx", SOURCE),
        ("src/Button.vue", SOURCE),
        ("packages/core/src/a.cts", SOURCE),
        ("bin/cli.js", SOURCE),
        ("src/contest/latest.ts", SOURCE),
        ("src/testimony.ts", SOURCE),
        ("src/a.test.ts", TEST),
        ("src/a.spec.tsx", TEST),
        ("src/a.test.ts.snap", TEST),
        ("a.test-d.ts", TEST),
        ("src/__tests__/helper.ts", TEST),
        ("src/__mocks__/fs.js", TEST),
        ("src/__snapshots__/a.snap", TEST),
        ("test/data/x.json", TEST),
        ("packages/a/test/helper.js", TEST),
        ("src/test/setup.ts", TEST),
        ("e2e/login.ts", TEST),
        ("src/setupTests.js", TEST),
        ("src/test-utils.tsx", TEST),
        ("vitest.config.mts", TEST),
        ("vitest.workspace.ts", TEST),
        ("packages/a/jest.config.js", TEST),
        ("jest.setup.ts", TEST),
        ("jest-setup.js", TEST),
        (".mocharc.json", TEST),
        ("playwright.config.ts", TEST),
        ("node_modules/vitest/index.js", OTHER),
        ("packages/a/node_modules/x/a.test.js", OTHER),
        ("node_modules/x/src/a.js", OTHER),
        ("src/node_modules/x.js", SOURCE),
        ("test/node_modules/x.js", TEST),
        ("dist/a.test.js", OTHER),
        ("packages/a/dist/index.js", OTHER),
        ("coverage/lcov.info", OTHER),
        (".next/server/a.js", OTHER),
        ("webpack.config.js", OTHER),
        ("packages/a/rollup.config.mjs", OTHER),
        ("src/config/database.config.ts", SOURCE),
        ("scripts/release.mjs", OTHER),
        ("docs/demo.test.md", TEST),
        ("src/types.d.ts", OTHER),
        (".eslintrc.cjs", OTHER),
        ("package.json", OTHER),
        ("src/style.css", OTHER),
        ("README.md", OTHER),
    ],
)
def test_node(path: str, expected: PathClass, classes: Classes) -> None:
    assert classify(path, classes) is expected


@pytest.mark.parametrize(
    ("path", "vitest", "jest", "node"),
    [
        ("vite.config.ts", TEST, OTHER, OTHER),
        ("babel.config.js", OTHER, TEST, OTHER),
        (".babelrc", OTHER, TEST, OTHER),
        ("src/ab-test.ts", SOURCE, SOURCE, TEST),
        ("src/test-a.js", SOURCE, SOURCE, TEST),
        ("test.js", SOURCE, SOURCE, TEST),
    ],
)
def test_node_by_its_runner(path: str, vitest: PathClass, jest: PathClass, node: PathClass) -> None:
    assert [classify(path, classes) for classes in (VITEST, JEST, NODE)] == [vitest, jest, node]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/lib.rs", SOURCE),
        ("src/build.rs", SOURCE),
        ("src/target/arm.rs", SOURCE),
        ("crates/a/src/main.rs", SOURCE),
        ("src/test.rs", SOURCE),
        ("src/attest.rs", SOURCE),
        ("src/benches/a.rs", SOURCE),
        ("tests/api.rs", TEST),
        ("crates/a/tests/data/x.json", TEST),
        ("src/tests.rs", TEST),
        ("src/calc/tests.rs", TEST),
        ("src/calc_test.rs", TEST),
        ("src/tests/helper.rs", TEST),
        ("benches/a.rs", TEST),
        ("src/snapshots/a.snap", TEST),
        ("proptest-regressions/a.txt", TEST),
        ("build.rs", TEST),
        ("crates/a/build.rs", TEST),
        (".cargo/config.toml", TEST),
        ("rust-toolchain.toml", TEST),
        ("target/debug/tests/a.rs", OTHER),
        ("Cargo.toml", OTHER),
        ("Cargo.lock", OTHER),
        ("clippy.toml", OTHER),
        ("examples/a.rs", OTHER),
        ("xtask/src/main.rs", OTHER),
        ("test_calc.py", OTHER),
    ],
)
def test_rust(path: str, expected: PathClass) -> None:
    assert classify(path, RUST) is expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("main.go", SOURCE),
        ("internal/calc/calc.go", SOURCE),
        ("cmd/build/main.go", SOURCE),
        ("internal/latest.go", SOURCE),
        ("calc_test.go", TEST),
        ("internal/calc/testdata/a.golden", TEST),
        ("internal/testutil/clock.go", TEST),
        ("test/e2e/run.go", TEST),
        ("vendor/github.com/stretchr/testify/assert/assert.go", TEST),
        ("vendor/github.com/spf13/cobra/cobra.go", OTHER),
        ("internal/vendor/x.go", OTHER),
        ("_examples/a.go", OTHER),
        ("tools/gen.go", OTHER),
        ("go.mod", OTHER),
    ],
)
def test_go(path: str, expected: PathClass) -> None:
    assert classify(path, GO) is expected


@pytest.mark.parametrize(
    ("classes", "path", "expected"),
    [
        (JAVA, "src/main/java/a/TestResult.java", SOURCE),
        (JAVA, "src/main/java/a/LoadTest.java", SOURCE),
        (JAVA, "src/main/java/a/target/Aim.java", SOURCE),
        (JAVA, "core/src/main/kotlin/A.kt", SOURCE),
        (JAVA, "src/test/java/a/Helper.java", TEST),
        (JAVA, "src/integrationTest/resources/x.sql", TEST),
        (JAVA, "app/ATest.java", TEST),
        (JAVA, "build.gradle.kts", TEST),
        (JAVA, "target/classes/a/ATest.class", OTHER),
        (JAVA, "pom.xml", OTHER),
        (PHP, "src/Calc.php", SOURCE),
        (PHP, "tests/CalcTest.php", TEST),
        (PHP, "phpunit.xml.dist", TEST),
        (PHP, "vendor/phpunit/phpunit/src/Test.php", OTHER),
        (RUBY, "lib/calc.rb", SOURCE),
        (RUBY, "app/models/spec/sheet.rb", SOURCE),
        (RUBY, "spec/spec_helper.rb", TEST),
        (RUBY, "lib/calc_spec.rb", TEST),
        (RUBY, ".rspec", TEST),
        (RUBY, "vendor/bundle/x_spec.rb", OTHER),
        (SWIFT, "Sources/Calc/Calc.swift", SOURCE),
        (SWIFT, "Tests/CalcTests/CalcTests.swift", TEST),
        (CSHARP, "Calc/Adder.cs", SOURCE),
        (CSHARP, "Calc.Tests/Helper.cs", TEST),
        (CSHARP, "Calc/obj/x.cs", OTHER),
    ],
)
def test_languages_that_are_tested_by_junit_reports(classes: Classes, path: str, expected: PathClass) -> None:
    assert classify(path, classes) is expected


TWO = compile_classes(
    Settings(
        stacks=(
            Stack(),
            Stack(language="node", runner="vitest"),
            Stack(root="web", language="node", runner="jest", source=("code",)),
            Stack(root="fast", language="rust", runner="cargo"),
        )
    ),
    {},
    usual,
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("app.py", SOURCE),
        ("app.ts", SOURCE),
        ("web/other/app.ts", OTHER),
        ("web/code/app.ts", SOURCE),
        ("web/code/app.py", SOURCE),
        ("fast/src/lib.rs", SOURCE),
        ("src/lib.rs", OTHER),
        ("fast/target/x.py", OTHER),
        ("target/x.py", SOURCE),
        ("web/babel.config.js", TEST),
        ("vite.config.js", TEST),
        (".cargo/config.toml", TEST),
        ("conftest.py", TEST),
    ],
)
def test_several_stacks_also_at_one_root(path: str, expected: PathClass) -> None:
    assert classify(path, TWO) is expected
