import { Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { Id } from '../cloud/id.ts'

const Named = Type.Object({ id: Id, name: Type.Optional(Type.Union([Type.String(), Type.Null()])) })
const Lists = {
  images: Type.Object({ images: Type.Array(Named) }),
  networks: Type.Object({ networks: Type.Array(Named) }),
} as const
const SERVICE = { images: 'image', networks: 'network' } as const
/** At most so many candidates are named. */
const NAMES_MAX = 10

/**
 * The id of an image or network that an operator named by its id or its name. Throws `invalid` for one that is not there,
 * with some that are, and for a name that several have.
 */
export async function namedId(
  cloud: Cloud,
  what: keyof typeof SERVICE,
  named: string,
  signal: AbortSignal,
): Promise<string> {
  const list = async (query: Readonly<Record<string, string>>) => {
    const asked = { query, signal }
    const { body } = await cloud.ask(Lists[what], SERVICE[what], 'GET', `/${what}`, asked)
    return (
      body as Record<string, readonly { readonly id: string; readonly name?: string | null }[]>
    )[what]!
  }
  const byName = await list({ name: named })
  const [found, second] = byName
  const one = what.slice(0, -1)
  if (second !== undefined)
    throw new Failure(
      'invalid',
      `The nested cloud has several ${what} called ${named}: name one by its id, such as ${found!.id}.`,
    )
  if (found !== undefined) return found.id
  const isThere = await cloud
    .call(SERVICE[what], 'GET', `/${what}/${encodeURIComponent(named)}`, { signal })
    .then(
      () => true,
      (error: unknown) => {
        if (!isFailure(error, 'not-found', 'invalid')) throw error
        return false
      },
    )
  if (isThere) return named
  const some = (await list({ limit: String(NAMES_MAX) })).map(({ id, name }) => name ?? id)
  throw new Failure(
    'invalid',
    `The nested cloud has no ${one} ${named}. It has: ${some.join(', ') || 'none'}.`,
  )
}
