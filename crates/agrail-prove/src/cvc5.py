"""cvc5 as a program that reads SMT-LIB from standard input, through the library of the Python package."""
import sys

import cvc5


class Session:
    """A solver and what it has read."""

    def __init__(self):
        self.terms = cvc5.TermManager()
        self.solver = cvc5.Solver(self.terms)
        self.solver.setOption("tlimit-per", sys.argv[1])
        self.symbols = cvc5.SymbolManager(self.terms)
        self.parser = cvc5.InputParser(self.solver, self.symbols)

    def answers(self, text):
        """The answers to the commands in a text."""
        self.parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "input")
        while True:
            command = self.parser.nextCommand()
            if command.isNull():
                return
            yield str(command.invoke(self.solver, self.symbols))


def depth(line, state):
    """How much deeper a line ends than it begins, in brackets. The state is the quote that is open, if any."""
    change = 0
    for character in line:
        if state:
            state = "" if character == state else state
        elif character in '"|':
            state = character
        elif character == ";":
            break
        else:
            change += (character == "(") - (character == ")")
    return change, state


def main():
    session, text, open_brackets, quote = Session(), "", 0, ""
    for line in sys.stdin:
        text += line
        change, quote = depth(line, quote)
        open_brackets += change
        if open_brackets or quote:
            continue
        command, text = text, ""
        if command.strip() == "(reset)":
            session = Session()
            continue
        try:
            for answer in session.answers(command):
                if answer.strip():
                    print(answer.rstrip("\n"), flush=True)
        except Exception as problem:  # what a solver says is read by the program that asked
            print('(error "%s")' % str(problem).replace('"', "'").replace("\n", " "), flush=True)


main()
