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
