import { isFailure } from '#common/errors.ts'
import type { Engine } from '../engine/engine.ts'

/** The fields read of each image in the answer to `GET /images/json`. */
interface ListedImage {
  readonly Id: string
  readonly RepoTags: readonly string[] | null
  /** In bytes. */
  readonly Size: number
}

/** The engine's time for an image that was never named. */
const LONG_AGO = '0001-01-01T00:00:00Z'

interface Unused {
  readonly name: string
  readonly size: number
  /** When the name was given to it last, as the engine says it. */
  readonly namedAt: string
}

export interface PurgeImages {
  /** Only images named `repository:...` are Weir's. */
  readonly repository: string
  /** Names of images that are always kept. */
  readonly kept: readonly string[]
  readonly unusedBytesMax: number
}

/**
 * Afterwards the images of the repository that no container uses take no more than the limit, but for the image named
 * last. The images named longest ago are removed first. An image that has other names as well loses only ours.
 */
export async function purgeImages(
  engine: Engine,
  { repository, kept, unusedBytesMax }: PurgeImages,
  signal: AbortSignal,
): Promise<void> {
  const filters = JSON.stringify({ reference: [repository] })
  const query = { filters }
  const all = await engine.call<readonly ListedImage[]>('GET', '/images/json', { query, signal })
  const used = await imagesInUse(engine, signal)
  const idle = all
    .filter(({ Id }) => !used.has(Id))
    .flatMap(({ RepoTags, Size }) => (RepoTags ?? []).map((name) => ({ name, size: Size })))
    .filter(({ name }) => name.startsWith(`${repository}:`) && !kept.includes(name))
  if (idle.reduce((total, { size }) => total + size, 0) <= unusedBytesMax) return
  const dated = await Promise.all(
    idle.map(async (each) => ({ ...each, namedAt: await namedAt(engine, each.name, signal) })),
  )
  const [newest, ...others] = dated.toSorted(
    (a, b) => Date.parse(b.namedAt) - Date.parse(a.namedAt),
  )
  let size = newest?.size ?? 0
  for (const image of others) {
    size += image.size
    if (size > unusedBytesMax) await remove(engine, image, signal)
  }
}

async function imagesInUse(engine: Engine, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const query = { all: '1' }
  type Used = { readonly ImageID: string }
  const containers = await engine.call<readonly Used[]>('GET', '/containers/json', {
    query,
    signal,
  })
  return new Set(containers.map(({ ImageID }) => ImageID))
}

/** RFC 3339; long ago for an image that is gone, or an engine that does not say. */
async function namedAt(engine: Engine, name: string, signal: AbortSignal): Promise<string> {
  type Named = { readonly Metadata?: { readonly LastTagTime?: string } }
  try {
    const found = await engine.call<Named>('GET', `/images/${name}/json`, { signal })
    return found.Metadata?.LastTagTime ?? LONG_AGO
  } catch (error) {
    if (isFailure(error, 'not-found')) return LONG_AGO
    throw error
  }
}

/** One that was named again since it was looked at is about to be used; the engine keeps what a container is made of. */
async function remove(engine: Engine, image: Unused, signal: AbortSignal): Promise<void> {
  if ((await namedAt(engine, image.name, signal)) !== image.namedAt) return
  await engine.call('DELETE', `/images/${image.name}`, { signal }).catch((error: unknown) => {
    if (!isFailure(error, 'not-found', 'conflict')) throw error
  })
}
