import { type Static, Type } from 'typebox'
import { OneOf, Uuid } from './scalars.ts'

/** Bytes of a console in one message, before base64: far below what the bus takes. */
export const CONSOLE_BYTES_MAX = 48 * 1024

const Seq = Type.Integer({ minimum: 1 })
const Bytes = Type.String({ contentEncoding: 'base64', maxLength: CONSOLE_BYTES_MAX * 2 })

/**
 * Subjects below `cell.<cell>.host.<host>.`: a console as two streams of numbered chunks, each with a window of one.
 * The next chunk is sent when the one before was taken, so neither end buffers more than one; a request that is
 * repeated, because its answer was lost, gets the same answer.
 */
export const CONSOLE_OPERATIONS = {
  /** Afterwards the session is open; opening it again changes nothing. */
  'console-open': {
    ask: Type.Object({
      session: Uuid,
      serverId: Uuid,
      attempt: Type.Integer({ minimum: 1 }),
      kind: OneOf(['serial', 'vnc']),
    }),
    answer: Type.Object({}),
  },
  /** The output since the last read, after waiting up to `waitMs` for some. */
  'console-read': {
    ask: Type.Object({
      session: Uuid,
      seq: Seq,
      waitMs: Type.Integer({ minimum: 0, maximum: 30_000 }),
    }),
    answer: Type.Object({ bytes: Bytes, isEnded: Type.Boolean() }),
  },
  /** Answered once the guest has taken it. */
  'console-write': {
    ask: Type.Object({ session: Uuid, seq: Seq, bytes: Bytes }),
    answer: Type.Object({}),
  },
  'console-close': { ask: Type.Object({ session: Uuid }), answer: Type.Object({}) },
} as const
export type ConsoleOperation = keyof typeof CONSOLE_OPERATIONS
export type ConsoleAsk<O extends ConsoleOperation> = Static<(typeof CONSOLE_OPERATIONS)[O]['ask']>
export type ConsoleAnswer<O extends ConsoleOperation> = Static<
  (typeof CONSOLE_OPERATIONS)[O]['answer']
>
