"""The real race: tables that somebody collected, in every form in which they are handed over.

    python -m benchmarks real                      every row, Q1 and on
    python -m benchmarks real Q3 Q7 --peers sklearn
    python -m benchmarks real Q3 --forms           one row in every order, dtype and kind of label
    python -m benchmarks real --quick              a tenth of the rows

`rows` lists the race, `tables` reads what it is run on, `models` says who fits what and by which score they are
compared; `child` is one peer in a process of its own, `race` asks the processes in turn, `judgement` says who counts.
"""
