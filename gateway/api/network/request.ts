import type { RawRequest } from '../../http/operation.ts'

/** What a body creates: one object under its name, or several under the collection's. */
interface OneOrSeveral<T> {
  readonly one: T | undefined
  readonly several: readonly T[] | undefined
}

/** The answer has the shape of the request. */
export async function oneOrSeveral<Draft, View>(
  { one, several }: OneOrSeveral<Draft>,
  create: (drafts: readonly Draft[]) => Promise<readonly View[]>,
): Promise<OneOrSeveral<View>> {
  if (several !== undefined) return { one: undefined, several: await create(several) }
  const [made] = await create(one === undefined ? [] : [one])
  return { one: made, several: undefined }
}

/** The revision that the request is for, from `If-Match: revision_number=N`; undefined: any. Neutron ignores all else. */
export function wantedRevision({ header }: RawRequest): number | undefined {
  const text = /(?:^|,)\s*revision_number=(\d{1,9})\s*(?:,|$)/.exec(header('if-match') ?? '')?.[1]
  return text === undefined ? undefined : Number(text)
}

/** The attributes of a view that `fields` names; all if it names none. */
export function pick<T extends object>(view: T, fields: readonly string[] | undefined): Partial<T> {
  if (fields === undefined || fields.length === 0) return view
  const asked = new Set(fields)
  return Object.fromEntries(Object.entries(view).filter(([name]) => asked.has(name))) as Partial<T>
}
