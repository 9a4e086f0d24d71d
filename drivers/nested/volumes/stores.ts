import { createHash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Failure, isFailure } from '#common/errors.ts'
import { Nullable } from '#openapi/wire/scalars.ts'
import type { StoreReport } from '../../volumes.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { Id } from '../cloud/id.ts'
import type { NestedHost } from '../host.ts'
import { GIB } from './cloud-volume.ts'

const VolumeType = Type.Object({
  id: Id,
  name: Type.String(),
  /** Of a type's extra specs a user sees only some. */
  extra_specs: Type.Optional(Nullable(Type.Record(Type.String(), Type.String()))),
})
const Types = Type.Object({ volume_types: Type.Array(VolumeType) })
const ShownType = Type.Object({ volume_type: VolumeType })

/** -1: no limit. */
const Usage = Type.Object({
  limit: Type.Number(),
  in_use: Type.Number(),
  reserved: Type.Number(),
})
type Quota = Readonly<Record<string, unknown>>
const QuotaSet = Type.Object({ quota_set: Type.Record(Type.String(), Type.Unknown()) })

/** What kind of volumes a store here has below. */
interface TypeBelow {
  /** Of the volume type; null: the one that the cloud gives to volumes for which none is named, if it does. */
  readonly id: string | null
  readonly store: string
  readonly name: string
  /** By which the cloud names its quota; null: that has no type. */
  readonly quotaName: string | null
  readonly multiattach: boolean
}

/** The name of the store whose volumes have the cloud's default type. */
const DEFAULT_STORE = 'default'

/** What of a host the stores depend on. */
type Below = Pick<NestedHost, 'cloud' | 'settings'>

/** True where the cloud has Block Storage for this project. */
async function hasVolumes({ cloud }: Below, signal: AbortSignal): Promise<boolean> {
  return (await cloud.access(signal)).endpoints.volume !== undefined
}

/** The cloud's default type, and those that the operator has named. */
async function typesBelow(
  { cloud, settings }: Below,
  signal: AbortSignal,
): Promise<readonly TypeBelow[]> {
  const { projectId } = await cloud.access(signal)
  const byDefault = await defaultType(cloud, signal)
  const named =
    settings.volumeTypes.length === 0
      ? []
      : (await cloud.ask(Types, 'volume', 'GET', '/types', { signal })).body.volume_types
  return [
    {
      id: null,
      store: storeId(projectId),
      name: DEFAULT_STORE,
      quotaName: byDefault?.name ?? null,
      multiattach: byDefault !== undefined && isMultiattach(byDefault),
    },
    ...named
      .filter(({ id, name }) => [id, name].some((each) => settings.volumeTypes.includes(each)))
      .map((type) => ({
        id: type.id,
        store: storeId(projectId, type.id),
        name: type.name,
        quotaName: type.name,
        multiattach: isMultiattach(type),
      })),
  ]
}

/** Undefined of a cloud whose volumes may have no type. */
async function defaultType(cloud: Cloud, signal: AbortSignal) {
  try {
    return (await cloud.ask(ShownType, 'volume', 'GET', '/types/default', { signal })).body
      .volume_type
  } catch (error) {
    if (isFailure(error, 'not-found')) return undefined
    throw error
  }
}

function isMultiattach({ extra_specs }: Static<typeof VolumeType>): boolean {
  return extra_specs?.['multiattach'] === '<is> True'
}

/** No other cloud has it: the ids of projects are made by chance. Volumes carry it, so it never changes. */
function storeId(...ids: readonly string[]): string {
  const hash = createHash('sha256').update(ids.join(' ')).digest('hex')
  const cuts = [0, 8, 12, 16, 20, 32]
  return cuts
    .slice(1)
    .map((end, at) => hash.slice(cuts[at], end))
    .join('-')
}

/** The type whose volumes are in the store; null: the cloud's default. Throws `not-found` for a store that the cloud is not. */
export async function typeOfStore(
  host: NestedHost,
  store: string,
  signal: AbortSignal,
): Promise<string | null> {
  const found = (await typesBelow(host, signal)).find((type) => type.store === store)
  if (found !== undefined) return found.id
  throw new Failure('not-found', `Store ${store} could not be found on this host.`)
}

/** None where the cloud has no Block Storage. */
export async function stores(host: Below, signal: AbortSignal): Promise<readonly StoreReport[]> {
  if (!(await hasVolumes(host, signal))) return []
  const { cloud, settings } = host
  const { projectId } = await cloud.access(signal)
  const asked = { query: { usage: 'true' }, signal }
  const path = `/os-quota-sets/${projectId}`
  const [types, { body }] = await Promise.all([
    typesBelow(host, signal),
    cloud.ask(QuotaSet, 'volume', 'GET', path, asked),
  ])
  return types.map(({ store, name, quotaName, multiattach }) => {
    const { totalGb, freeGb } = roomOf(body.quota_set, quotaName, settings.volumeGb)
    return {
      ...{ id: store, name, engine: 'nested', isShared: true, multiattach },
      encrypts: false,
      ...{ totalBytes: totalGb * GIB, freeBytes: freeGb * GIB },
    }
  })
}

/** What the project may have of volumes of a type, as its quota says: free space is not shown to users of a cloud. */
function roomOf(quota: Quota, type: string | null, shareGb: number) {
  const usageOf = (name: string) => {
    const found = [name, `${name}_${type}`].flatMap((key) => {
      const usage = quota[key]
      return isUsage(usage) && usage.limit >= 0 ? [usage] : []
    })
    const left = found.map(({ limit, in_use, reserved }) => limit - in_use - reserved)
    return { limit: Math.min(...found.map(({ limit }) => limit)), left: Math.min(...left) }
  }
  const gigabytes = usageOf('gigabytes')
  const mayHaveOne = usageOf('volumes').left > 0
  return {
    totalGb: Math.min(gigabytes.limit, shareGb),
    freeGb: mayHaveOne ? Math.max(0, Math.min(gigabytes.left, shareGb)) : 0,
  }
}

function isUsage(value: unknown): value is Static<typeof Usage> {
  return Value.Check(Usage, value)
}

const Zones = Type.Object({
  availabilityZoneInfo: Type.Array(Type.Object({ zoneName: Type.String() })),
})

/** Where servers are put: volumes too, if Block Storage has a zone of that name. */
export async function zoneForVolumes(
  { cloud, settings }: NestedHost,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { zone } = settings
  if (zone === undefined) return undefined
  const path = '/os-availability-zone'
  const { body } = await cloud.ask(Zones, 'volume', 'GET', path, { signal })
  return body.availabilityZoneInfo.some(({ zoneName }) => zoneName === zone) ? zone : undefined
}
