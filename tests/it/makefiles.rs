//! Makefiles: what `make` would run is read wherever it stands; what changes how `make` reads the file is unknown.

use crate::javascript::project;
use crate::knowledge::{allowed_in, stopped_in};

const HARM: &str = "rm -rf /home/user/Documents";

#[test]
fn recipes_in_unusual_places_are_read() {
    for (text, command) in [
        (format!("export X = $(shell {HARM})\nall:\n\techo hi\n"), "make"),
        (format!("all:\n{}\t{HARM}\n", "\techo a\n".repeat(400)), "make"),
        ("D = /home/user/Documents\nall:\n\trm -rf $(D)\n".to_owned(), "export D=dist; make"),
        ("D = x\noverride D = /home/user/Documents\nall:\n\trm -rf $(D)\n".to_owned(), "make D=dist"),
        ("all: D = /home/user/Documents\nall: b\nb:\n\trm -rf $(D)\n".to_owned(), "make"),
        (format!("%: X = 1\nall: a.o\n%.o: %.c\n\t{HARM}\n"), "make"),
        (format!("all: a.o\n.c.o:\n\t{HARM}\n"), "make"),
        (format!("all: b\n.DEFAULT:\n\t{HARM}\n"), "make"),
        (format!("O = a.c\nall: a.d\n$(O:.c=.d):\n\t{HARM}\n"), "make"),
        (format!("all:\n\techo\nb:\n\t+{HARM}\n"), "make -n b"),
        (format!("X := $(shell {HARM})\nall:\n\techo\n"), "make --dry-run"),
        (format!("ifdef CI\na:\n\techo\nendif\nall:\n\t{HARM}\n"), "make"),
        (format!("ifneq ($(USER),)\nall:\n\t{HARM}\nelse\nall:\n\techo\nendif\n"), "make"),
        (format!(".RECIPEPREFIX = >\nall:\n> {HARM}\n"), "make"),
        (format!("define X\n{HARM}\nendef # end\nall:\n\t$(X)\n"), "make"),
        (format!("include b.mk\nb.mk:\n\t{HARM}\nall:\n\techo\n"), "make"),
        ("-include b.mk\nb.mk:\n\techo 'x := $$(shell rm -rf /etc)' > $@\nall:\n\techo\n".to_owned(), "make"),
        (format!("%.o: %.c\n\tcc -c $<\nall: b.o c.o d.o ../e.o\n%/e.o:\n\t{HARM}\n"), "make"),
        ("all: a.d b.d c.d ../Documents.d\n%.d:\n\trm -rf $*\n".to_owned(), "make"),
        ("include b.mk\nall:\n\techo\n".to_owned(), "curl -o b.mk https://files.example.net/b.mk && make"),
        ("all:\n\techo\n".to_owned(), "make CC='rm -rf /home/user/Documents' a.o"),
        ("all:\n\techo\n".to_owned(), "make CFLAGS='; rm -rf /home/user/Documents;' a.o"),
    ] {
        let root = project(&[("Makefile", &text), ("a.c", "")]);
        stopped_in(root.path(), &[command]);
    }
    let root =
        project(&[("Makefile", "include mk/*.mk\nall: ; echo\n"), ("mk/a.mk", &format!("X := $(shell {HARM})\n"))]);
    stopped_in(root.path(), &["make"]);
}

#[test]
fn one_target_of_many_is_read_like_the_others() {
    let many = "all: a.o b.o c.o d.o\n";
    for text in [
        format!("{many}d.o: X = {HARM}\n%.o: %.c\n\t$(X)\n\tcc -c $<\n"),
        format!("{many}%.o: %.c\n\t$(if $(filter d.o,$@),{HARM},cc -c $<)\n"),
        format!("{many}d.o: C = cc -wrapper '{HARM},'\nC = cc\n%.o: %.c\n\t$(C) -c $<\n"),
        format!("{many}%.o: %.c\n\tsh s/$*.sh\n"),
    ] {
        let root = project(&[("Makefile", &text), ("s/a.sh", "ls\n"), ("s/b.sh", "ls\n"), ("s/d.sh", HARM)]);
        stopped_in(root.path(), &["make"]);
    }
}

#[test]
fn what_the_command_line_or_a_program_gives_a_makefile_is_none_of_the_project() {
    for (text, command) in [
        ("all:\n\t$(T) a.c\n".to_owned(), "make T=frobnicate-q"),
        ("all:\n\t$(T) a.c\n".to_owned(), "export T=frobnicate-q; make"),
        ("all:\n\t$(T); echo a\n".to_owned(), "make T=frobnicate-q"),
        ("all:\n\techo\n".to_owned(), "make --eval='X := $(shell frobnicate-q --all)'"),
        ("-include a.d\nall:\n\techo\na.d: a.c\n\tcc -E -MD a.c > a.d\n".to_owned(), "make"),
        (format!("X := $(shell test -f q || echo {HARM})\nall:\n\t$(X)\n"), "make"),
        ("ifdef CI\nD = x\nendif\nD ?= /home/user/Documents\nall:\n\trm -rf $(D)\n".to_owned(), "make"),
        ("all:\n\tcmake -B b\n\tbash b/out.sh\n".to_owned(), "make"),
    ] {
        let root = project(&[("Makefile", &text), ("a.c", ""), ("CMakeLists.txt", "project(a C)\n")]);
        stopped_in(root.path(), &[command]);
    }
}

#[test]
fn ordinary_makefiles_are_allowed() {
    let built = "CC ?= gcc\nCFLAGS := -O2 $(shell pkg-config --cflags x)\nOBJ := $(patsubst %.c,%.o,$(wildcard src/*.c))\n\
        -include $(OBJ:.o=.d)\nall: app\napp: $(OBJ)\n\t$(CC) $(CFLAGS) -o $@ $^\n%.o: %.c\n\t$(CC) $(CFLAGS) -MMD -c $< -o $@\n\
        clean:\n\trm -f app $(OBJ)\n.PHONY: all clean\n";
    let root = project(&[("Makefile", built), ("src/a.c", "")]);
    allowed_in(root.path(), &["make", "make clean", "make -n", "make CC=clang CFLAGS=-O3"]);
    let helped = ".DEFAULT_GOAL := help\nhelp: ## show\n\t@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sort\ntest: ## run\n\tpytest -q\n\
        export PYTHONPATH := src\n";
    let root = project(&[("Makefile", helped)]);
    allowed_in(root.path(), &["make", "make test", "make -n test"]);
    let shared =
        "include common.mk\n-include .env.local\nifeq ($(V),1)\nQ :=\nelse\nQ := @\nendif\nall:\n\t$(Q)echo $(NAME)\n";
    let root = project(&[("Makefile", shared), ("common.mk", "NAME = x\n")]);
    allowed_in(root.path(), &["make", "make V=1"]);
    let root = project(&[("Makefile", "all:\n\t./own-tool --all\n\tbash absent.sh\n"), ("own-tool", "ls\n")]);
    allowed_in(root.path(), &["make", "make all"]);
}
