import type { Rows } from './snapshot.ts'

/** A volume as the gateways know it. */
interface VolumeRow {
  readonly id: string
  readonly project_id: string
  readonly status: string
  readonly is_deleting: number
  readonly saga_id: string | null
  readonly cell_id: string | null
  readonly attempt: number
  readonly size_gb: number
  readonly charged_gb: number
}

/** A volume as its cell knows it. */
interface CellVolumeRow {
  readonly volume_id: string
  readonly attempt: number
  readonly size_gb: number
  readonly state: string
  readonly store_id: string
  readonly saga_id: string | null
}

/** A snapshot of a volume, as the gateways know it. */
interface SnapshotRow {
  readonly id: string
  readonly project_id: string
  readonly volume_id: string
  readonly status: string
  readonly is_deleting: number
  readonly saga_id: string | null
  readonly cell_id: string | null
  readonly size_gb: number
}

/** The same, as its cell knows it. */
interface CellSnapshotRow {
  readonly snapshot_id: string
  readonly size_gb: number
  readonly state: string
  readonly store_id: string
  readonly saga_id: string | null
}

/** What a store has of a volume that is in another one. */
interface CellCopyRow {
  readonly volume_id: string
  readonly size_gb: number
  readonly store_id: string
}

/** What a cell has of volumes. */
export interface CellVolumes {
  readonly snapshots: readonly CellSnapshotRow[]
  readonly volumes: readonly CellVolumeRow[]
  readonly copies: readonly CellCopyRow[]
  readonly stores: readonly { readonly id: string; readonly promised_gb: number }[]
}

/** What the gateways have of them. */
export interface GatewayVolumes {
  readonly snapshots: readonly SnapshotRow[]
  readonly volumes: readonly VolumeRow[]
  readonly attachments: readonly {
    readonly volume_id: string
    readonly server_id: string
    readonly state: string
  }[]
  readonly quotas: readonly {
    readonly project_id: string
    readonly resource: string
    readonly used: number
  }[]
}

export async function gatewayVolumes(rows: Rows): Promise<GatewayVolumes> {
  return {
    volumes: await rows<VolumeRow>('SELECT * FROM volumes'),
    snapshots: await rows<SnapshotRow>('SELECT * FROM volume_snapshots'),
    attachments: await rows('SELECT volume_id, server_id, state FROM volume_attachments'),
    quotas: await rows(
      `SELECT project_id, resource, used FROM volume_quotas WHERE resource IN ('volumes', 'snapshots', 'gigabytes')`,
    ),
  }
}

export async function cellVolumes(rows: Rows): Promise<CellVolumes> {
  return {
    volumes: await rows<CellVolumeRow>('SELECT * FROM volumes'),
    snapshots: await rows<CellSnapshotRow>('SELECT * FROM volume_snapshots'),
    copies: await rows<CellCopyRow>('SELECT * FROM volume_copies'),
    stores: await rows('SELECT id, promised_gb FROM stores'),
  }
}

/** What a cell of the cloud has. */
interface NamedCell {
  readonly id: string
  readonly name: string
  readonly volumes: CellVolumes
}

/**
 * The violated invariants of volumes and their snapshots: each is in the cell that it is mapped to and in no other, its
 * store and the quota count it, those that are attached are attached to servers that exist, and a snapshot has its volume.
 */
export function volumeProblems(
  gateway: GatewayVolumes,
  cells: readonly NamedCell[],
  servers: ReadonlySet<string>,
): readonly string[] {
  return [
    ...unrest(gateway),
    ...cells.flatMap((cell) => cellProblems(gateway, cell)),
    ...missing(gateway, cells),
    ...snapshotProblems(gateway, cells),
    ...quotaProblems(gateway),
    ...gateway.attachments
      .filter((row) => row.state !== 'attached' || !servers.has(row.server_id))
      .map((row) => `volume ${row.volume_id} is ${row.state} at server ${row.server_id}`),
  ]
}

function unrest({ volumes, snapshots }: GatewayVolumes): readonly string[] {
  return [...volumes, ...snapshots]
    .filter((row) => row.saga_id !== null || row.is_deleting !== 0 || row.status === 'creating')
    .map((row) => `volume or snapshot ${row.id} is still ${row.status}`)
}

function cellProblems(
  { volumes: mapped }: GatewayVolumes,
  { id, name, volumes: { volumes, snapshots, copies, stores } }: NamedCell,
): readonly string[] {
  const problems: string[] = []
  for (const { volume_id, attempt, size_gb, state, saga_id } of volumes) {
    const row = mapped.find((each) => each.id === volume_id)
    if (row?.cell_id !== id || row.attempt !== attempt)
      problems.push(`${name} has volume ${volume_id}, which is not mapped to it`)
    else if (row.size_gb !== size_gb)
      problems.push(`volume ${volume_id} shows ${row.size_gb} GiB, ${name} has ${size_gb}`)
    if (saga_id !== null) problems.push(`volume ${volume_id} is still ${state} in ${name}`)
  }
  for (const { volume_id, store_id } of copies)
    problems.push(`store ${store_id} of ${name} still has content of volume ${volume_id}`)
  for (const store of stores) {
    const own = [...volumes, ...snapshots, ...copies].filter((row) => row.store_id === store.id)
    const size = own.reduce((sum, row) => sum + row.size_gb, 0)
    if (store.promised_gb !== size)
      problems.push(`store ${store.id} of ${name} counts ${store.promised_gb} GiB, has ${size}`)
  }
  return problems
}

function missing({ volumes }: GatewayVolumes, cells: readonly NamedCell[]): readonly string[] {
  const held = new Set(cells.flatMap((cell) => cell.volumes.volumes.map((row) => row.volume_id)))
  return volumes
    .filter(({ id, cell_id }) => cell_id !== null && !held.has(id))
    .map(({ id }) => `volume ${id} is mapped to a cell without it`)
}

function snapshotProblems(
  { snapshots, volumes }: GatewayVolumes,
  cells: readonly NamedCell[],
): readonly string[] {
  const ids = new Set(volumes.map(({ id }) => id))
  const held = new Map<string, readonly [cell: string, CellSnapshotRow]>()
  for (const { id, volumes: own } of cells)
    for (const row of own.snapshots) held.set(row.snapshot_id, [id, row])
  const known = new Set(snapshots.map(({ id }) => id))
  return [
    ...snapshots.flatMap(({ id, volume_id, cell_id, size_gb }) => {
      if (!ids.has(volume_id)) return [`snapshot ${id} is of volume ${volume_id}, which is gone`]
      const [cell = null, row] = held.get(id) ?? []
      const isRight = cell === cell_id && (row === undefined || row.size_gb === size_gb)
      return isRight ? [] : [`snapshot ${id} is mapped to ${cell_id}, and in ${cell}`]
    }),
    ...[...held].flatMap(([id, [cell, { state, saga_id }]]) =>
      known.has(id) && saga_id === null ? [] : [`snapshot ${id} is ${state} in ${cell}`],
    ),
  ]
}

function quotaProblems({ volumes, snapshots, quotas }: GatewayVolumes): readonly string[] {
  const projects = new Set([...volumes, ...snapshots, ...quotas].map((row) => row.project_id))
  return [...projects].flatMap((project) => {
    const own = volumes.filter((row) => row.project_id === project)
    const kept = snapshots.filter((row) => row.project_id === project)
    const promised = {
      volumes: own.length,
      snapshots: kept.length,
      gigabytes:
        own.reduce((sum, row) => sum + row.charged_gb, 0) +
        kept.reduce((sum, row) => sum + row.size_gb, 0),
    }
    return Object.entries(promised).flatMap(([resource, count]) => {
      const row = quotas.find((each) => each.project_id === project && each.resource === resource)
      return (row?.used ?? 0) === count
        ? []
        : [`quota of ${project} counts ${row?.used ?? 0} ${resource}, promised are ${count}`]
    })
  })
}
