import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'

// What Weir writes at the beginning of a LUN, in front of the content of its volume: the label in its first block, and who
// has the volume in a block of its own, so that an operator can clear that alone.

const LABEL_BYTES = 512
export const LABEL_AT = 0
export const HOLDER_AT = 4096
/** Where the content of volumes begins. */
export const CONTENT_AT = 1024 ** 2

const VERSION = 1

const Use = Type.Object({
  cell: Type.String(),
  volume: Type.String(),
  bytes: Type.Integer(),
  /**
   * What guests may open is `ready`. `making` and `leaving`: a host writes the LUN, on the way there, and away. `reimaging`: it
   * gives the volume other content, or was interrupted at that. `abandoned`: the volume is gone, and that host, which was not
   * asked, may be writing still.
   */
  state: Type.Union([
    Type.Literal('making'),
    Type.Literal('ready'),
    Type.Literal('reimaging'),
    Type.Literal('leaving'),
    Type.Literal('abandoned'),
  ]),
  /** The host that writes; absent of a volume that is ready. */
  by: Type.Optional(Type.String()),
})

const Label = Type.Object({
  weir: Type.Literal(VERSION),
  store: Type.String(),
  /** So many bytes of the content are zeros wherever the volume was not written; behind them may be what others wrote. */
  wiped: Type.Integer(),
  /** Absent: no volume has the LUN. */
  use: Type.Optional(Use),
})
export type LunLabel = Static<typeof Label>
export type LunUse = Static<typeof Use>

const Holder = Type.Object({
  host: Type.String(),
  /** Absent: the host is removing the volume. */
  attachment: Type.Optional(Type.String()),
  /** The host to which the guest is moving while it runs; absent: it is not. */
  to: Type.Optional(Type.String()),
})
/** Who has a volume. */
export type LunHolder = Static<typeof Holder>

/** The label in the first block of a LUN; undefined: it has none of Weir's. */
export function parseLabel(block: Buffer): LunLabel | undefined {
  const label = parse(block)
  return Value.Check(Label, label) ? label : undefined
}

/** Who has the volume by its block; undefined: nobody. Throws for what no host writes. */
export function parseHolder(block: Buffer): LunHolder | undefined {
  if (isZero(block)) return undefined
  const holder = parse(block)
  if (Value.Check(Holder, holder)) return holder
  throw new Error('the block that says who has the volume cannot be read')
}

/** A block of the LUN with this in it; undefined: a block of zeros. */
export function encodeBlock(what: LunLabel | LunHolder | undefined, blockBytes: number): Buffer {
  const block = Buffer.alloc(blockBytes)
  const text = what === undefined ? '' : `${JSON.stringify(what)}\n`
  if (block.write(text) > LABEL_BYTES) throw new Error('a label is longer than a block')
  return block
}

export function newLabel(store: string): LunLabel {
  return { weir: VERSION, store, wiped: 0 }
}

export function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0)
}

function parse(block: Buffer): unknown {
  const text = block.subarray(0, LABEL_BYTES).toString('utf8')
  const end = text.indexOf('\n')
  if (!text.startsWith('{') || end === -1) return undefined
  try {
    return JSON.parse(text.slice(0, end))
  } catch {
    return undefined
  }
}
