"""What the command line says of a mistake."""


def one_sentence(said):
    lines = said.strip().splitlines()
    return len(lines) == 1 and lines[0].startswith("separatrix: ") and ";" in lines[0]
