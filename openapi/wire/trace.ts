import { type Static, Type } from 'typebox'
import { Time } from './scalars.ts'

/** One scheduling decision: enough to answer "why there", and "why not". */
export const Trace = Type.Object({
  at: Time,
  /** Of what one was chosen; stores: for a volume. */
  level: Type.Union([Type.Literal('cells'), Type.Literal('hosts'), Type.Literal('stores')]),
  /** That applied to a choice of cells, and what bound it to the server; absent: none did. */
  policy: Type.Optional(
    Type.Object({
      name: Type.String(),
      boundBy: Type.Union([
        Type.Literal('hint'),
        Type.Literal('project'),
        Type.Literal('flavor'),
        Type.Literal('default'),
      ]),
    }),
  ),
  considered: Type.Integer(),
  /** In the order they ran: how many each refused, and why, for at most a few candidates. */
  filters: Type.Array(
    Type.Object({
      name: Type.String(),
      refused: Type.Integer(),
      examples: Type.Array(Type.Object({ candidate: Type.String(), reason: Type.String() })),
    }),
  ),
  /** Candidates left, best first, with each weigher's part of the score. */
  scores: Type.Array(
    Type.Object({
      candidate: Type.String(),
      score: Type.Number(),
      parts: Type.Record(Type.String(), Type.Number()),
    }),
  ),
  /** Candidates that had filled up before the claim was written. */
  lostClaims: Type.Array(Type.String()),
  chosen: Type.Union([Type.String(), Type.Null()]),
  tookMs: Type.Number(),
})
export type Trace = Static<typeof Trace>
