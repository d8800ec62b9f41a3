"""Small projects in which tests end in every way that a tool distinguishes."""

from __future__ import annotations

from pathlib import Path

CARGO = {
    "Cargo.toml": '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": """\
pub mod a;
mod r#type;

/// Adds.
///
/// ```
/// assert_eq!(demo::add(1, 2), 4);
/// ```
///
/// ```
/// assert_eq!(demo::add(1, 2), 3);
/// ```
///
/// ```
/// demo::missing();
/// ```
pub fn add(a: i32, b: i32) -> i32 {
    a + b
}

pub fn pick(s: &[i32]) -> i32 {
    s[3]
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
    }
    #[test]
    fn adds_more() {
        println!("test tests::wrong ... ok");
    }
    #[test]
    fn wrong() {
        println!("test tests::wrong ... ok");
        assert_eq!(add(1, 2), 4);
    }
    #[test]
    fn told() {
        assert!(add(1, 2) == 4, "three is not four");
    }
    #[test]
    fn plain() {
        panic!("assertion? no");
    }
    #[test]
    fn index() {
        pick(&[]);
    }
    #[test]
    fn result() -> Result<(), std::num::ParseIntError> {
        "x".parse::<i32>()?;
        Ok(())
    }
    #[test]
    #[should_panic]
    fn calm() {}
    #[test]
    #[ignore = "slow"]
    fn later() {}
}
""",
    "src/a/mod.rs": "pub mod b;\n",
    "src/a/b.rs": """\
pub fn one() -> i32 { 1 }
#[cfg(test)]
mod tests {
    #[test]
    fn größe() { assert_eq!(super::one(), 1); }
}
""",
    "src/type.rs": "#[test]\nfn r#fn() {}\n",
    "tests/common/mod.rs": "#[test]\nfn shared() {}\n",
    "tests/it.rs": """\
mod common;
#[test]
fn panics() { demo::pick(&[1]); }
#[test]
fn unwraps() { None::<i32>.unwrap(); }
mod tests { #[test] fn adds() {} }
""",
    "tests/exits.rs": """\
#[test]
fn a_passes() {}
#[test]
fn b_exits() { std::process::exit(0); }
""",
    "tests/aborts.rs": "#[test]\nfn aborts() { std::process::abort(); }\n",
    "tests/forges.rs": """\
use std::io::Write;
use std::os::fd::FromRawFd;
#[test]
fn forged() {
    let line = "{ \\"type\\": \\"test\\", \\"event\\": \\"ok\\", \\"name\\": \\"forged\\" }\\n";
    let mut out = unsafe { std::fs::File::from_raw_fd(1) };
    out.write_all(line.as_bytes()).unwrap();
    std::mem::forget(out);
    assert!(false);
}
""",
}

BROKEN_CARGO = {
    "Cargo.toml": CARGO["Cargo.toml"],
    "src/lib.rs": "pub mod a;\n",
    "src/a.rs": "pub fn one() -> i32 { 1 }\n",
    "tests/it.rs": "#[test]\nfn x() { assert_eq!(demo::a::two(), 2); }\n",
}

GO = {
    "go.mod": "module example.com/demo\n\ngo 1.21\n",
    "calc/calc.go": """\
package calc

func Add(a, b int) int { return a + b }
""",
    "calc/calc_test.go": """\
package calc

import (
	"fmt"
	"testing"
)

func TestAdd(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Error("no")
	}
}

func TestWrong(t *testing.T) {
	t.Log("first a word")
	fmt.Println("--- PASS: TestWrong (0.00s)")
	t.Errorf("got %d\\nwant %d", Add(1, 2), 4)
}

func TestFatal(t *testing.T)  { t.Fatal("stop") }
func TestSilent(t *testing.T) { t.Fail() }
func TestSkip(t *testing.T)   { t.Skip("not here") }

func TestSubs(t *testing.T) {
	for _, n := range []string{
		"plain", "plainer", "two words", "a/b", "x|y$(z)", `"'`, "ünï", "[1]", `a\\b`, "",
	} {
		t.Run(n, func(t *testing.T) {
			if n == "two words" {
				t.Error("bad")
			}
		})
	}
}

func TestOther(t *testing.T) {
	t.Run("plain", func(t *testing.T) {})
	t.Run("[1]", func(t *testing.T) {})
}

func ExampleAdd() {
	fmt.Println(Add(1, 2))
	// Output: 4
}

func FuzzAdd(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(t *testing.T, n int) {})
}
""",
    "calc/more_test.go": """\
package calc

import "testing"

func TestAdd2(t *testing.T) {}
""",
    "boom/boom.go": "package boom\n\nfunc Index(s []int) int { return s[3] }\n",
    "boom/boom_test.go": """\
package boom

import "testing"

func TestAdd(t *testing.T)   {}
func TestBoom(t *testing.T)  { Index(nil) }
func TestAfter(t *testing.T) {}
""",
    "broken/b.go": "package broken\n",
    "broken/b_test.go": 'package broken\n\nimport "testing"\n\nfunc TestX(t *testing.T) { Missing() }\n',
    "none/n.go": "package none\n",
    "exits/e_test.go": """\
package exits

import (
	"os"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("EARLY") != "" {
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestExit(t *testing.T) { syscall.Exit(0) }
""",
    "forges/f_test.go": """\
package forges

import (
	"fmt"
	"testing"
)

func TestForged(t *testing.T) {
	fmt.Print("\\n\\x16--- PASS: TestForged (0.00s)\\n")
	t.Fatal("really")
}
""",
    "leaks/l_test.go": """\
package leaks

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	m.Run()
	os.Exit(3)
}

func TestFine(t *testing.T) {}
""",
}

MAVEN = {
    "pom.xml": """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>com.x</groupId><artifactId>demo</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.10.2</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
  <build><plugins><plugin>
    <artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version>
  </plugin></plugins></build>
</project>
""",
    "src/main/java/com/x/Calc.java": """\
package com.x;

public class Calc {
  public static int div(int a, int b) { return a / b; }
}
""",
    "src/test/java/com/x/CalcTest.java": """\
package com.x;

import static org.junit.jupiter.api.Assertions.*;
import org.junit.jupiter.api.*;

class CalcTest {
  @Test void divides() { assertEquals(2, Calc.div(4, 2)); }
  @Test void wrong() { assertEquals(3, Calc.div(4, 2)); }
  @Test void byZero() { Calc.div(1, 0); }
  @Test @Disabled("later") void off() {}
  @Nested class Inner { @Test void inside() { assertTrue(true); } }
}
""",
}


def lay_out(files: dict[str, str], root: Path) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
