import { yieldToEventLoop } from '#common/yield-to-event-loop.ts'
import type { LongList } from './operation.ts'

type Serialize = (value: unknown) => string

/** So many entries are written at once: some milliseconds, for which everybody else waits. */
const SLICE = 125

/** The list of a body that is too long to be written at once; undefined if it has none. */
export function longListOf(body: unknown): LongList | undefined {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined
  for (const [name, entries] of Object.entries(body as Readonly<Record<string, unknown>>)) {
    if (Array.isArray(entries) && entries.length > SLICE)
      return listOf(name, entries as readonly unknown[], (entry) => entry)
  }
  return undefined
}

/** A list whose entries are made as they are written. `view` makes of one what the document describes. */
export function listOf<T>(
  name: string,
  entries: readonly T[],
  view: (entry: T) => unknown,
): LongList {
  const count = Math.ceil(entries.length / SLICE)
  const slices = Array.from({ length: count }, (_, place) => () => {
    return entries.slice(place * SLICE, (place + 1) * SLICE).map((entry) => view(entry))
  })
  return { name, slices }
}

/**
 * The body with its list as one text. A list of several slices is built and written in as many turns of the event loop,
 * where the text around it does not depend on it.
 */
export async function writeList(
  body: object,
  { name, slices }: LongList,
  serialize: Serialize,
): Promise<string | Uint8Array<ArrayBuffer>> {
  const [first, second] = slices
  const withList = (entries: readonly unknown[]) => serialize({ ...body, [name]: entries })
  if (second === undefined) return withList(first?.() ?? [])
  const inOneGo = () => withList(slices.flatMap((slice) => slice()))
  const around = withList([])
  // No text in a body can hold this: there the quotes are escaped.
  const at = around.indexOf(`"${name}":[]`)
  if (at === -1) return inOneGo()
  const start = around.slice(0, at + `"${name}":[`.length)
  const end = around.slice(start.length)
  const parts = [Buffer.from(start)]
  for (const slice of slices) {
    await yieldToEventLoop()
    const text = withList(slice())
    if (!text.startsWith(start) || !text.endsWith(end)) return inOneGo()
    if (parts.length > 1) parts.push(Buffer.from(','))
    parts.push(Buffer.from(text.slice(start.length, -end.length)))
  }
  parts.push(Buffer.from(end))
  return Buffer.concat(parts)
}
