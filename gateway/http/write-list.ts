import { turn } from '#common/turn.ts'
import type { LongList } from './operation.ts'

type Serialize = (value: unknown) => string

/** As a list without entries is written, which no text in a body can hold: there the quotes are escaped. */
const EMPTY = '[]'

/**
 * The body with its list, as it is written in one go; a list of several slices is made and written in as many turns of
 * the event loop.
 */
export async function writeList(
  body: object,
  { name, slices }: LongList,
  serialize: Serialize,
): Promise<string | Uint8Array<ArrayBuffer>> {
  const [first, second] = slices
  if (second === undefined) return serialize({ ...body, [name]: first?.() ?? [] })
  const parts: Buffer[] = []
  for (const slice of slices) {
    await turn()
    parts.push(Buffer.from(entriesIn(serialize({ [name]: slice() }), name)), Buffer.from(','))
  }
  const around = serialize({ ...body, [name]: [] })
  const at = around.indexOf(`"${name}":${EMPTY}`)
  if (at === -1) throw new Error(`An answer has no list ${name}`)
  const start = at + `"${name}":[`.length
  const before = Buffer.from(around.slice(0, start))
  return Buffer.concat([before, ...parts.slice(0, -1), Buffer.from(around.slice(start))])
}

/** What stands between the brackets of a body that is the list and nothing else. */
function entriesIn(text: string, name: string): string {
  const start = `{"${name}":[`
  const end = ']}'
  if (!text.startsWith(start) || !text.endsWith(end))
    throw new Error(`An answer has more than its list ${name}`)
  return text.slice(start.length, -end.length)
}
