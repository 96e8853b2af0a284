---- MODULE a_small_one ----

\* The rows of 'a-small one', written by `crashwindow export tla`: change the rows, not this file.

EXTENDS Naturals

VARIABLES
  kind,   \* config: what it is
  log,    \* durable: what is on record
  memory, \* volatile: what the worker holds
  sent    \* world: what is on its way

vars == <<kind, log, memory, sent>>

\* Counts: 2 stands for two or more. One less than that is one, or still two or more.
Inc(n) == IF n < 2 THEN n + 1 ELSE 2
Dec(n) == IF n = 2 THEN {1, 2} ELSE {0}

TypeOK ==
  /\ kind \in {"plain", "odd"}
  /\ log \in {"none", "first", "other"}
  /\ memory \in {"none", "first", "other"}
  /\ sent \in {0, 1, 2}

Init ==
  /\ kind \in {"plain", "odd"}
  /\ log = "none"
  /\ memory = "none"
  /\ sent = 0
  /\ ~(kind = "odd" /\ log \in {"first", "other"})

\* worker: send: first; S-1
send_first ==
  /\ log = "none"
  /\ sent' = Inc(sent)
  /\ memory' = "first"
  /\ UNCHANGED <<kind, log>>

\* worker: send, first
send_first_2 ==
  /\ kind = "odd"
  /\ sent \in {0, 1}
  /\ ~(memory = "none")
  /\ memory' = "other"
  /\ UNCHANGED <<kind, log, sent>>

\* world: arrives
arrives ==
  /\ sent \in {1, 2}
  /\ sent' \in Dec(sent)
  /\ UNCHANGED <<kind, log, memory>>

\* worker: commit; write boundary put; S-2
commit ==
  /\ memory \in {"first", "other"}
  /\ log' = memory
  /\ UNCHANGED <<kind, memory, sent>>

Next ==
  \/ send_first
  \/ send_first_2
  \/ arrives
  \/ commit

Spec == Init /\ [][Next]_vars

\* Q1: Nothing odd is sent twice.
Q1 ==
  /\ ~(kind = "odd" /\ sent = 2)

\* Q-2: What is on record stays.
Q_2_step ==
  /\ (log # "none") => (log' = log)
  /\ sent' >= sent
  /\ (log = "other") => UNCHANGED <<log>>

Q_2_steps == [][Q_2_step]_vars

====
