import { eq } from 'drizzle-orm'
import { expect } from 'vitest'
import { Failure } from '#common/errors.ts'
import { type AttachmentId, type InstanceId, newId, type VolumeId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { RunningCompute } from '#gateway/app/open-compute.ts'
import type { MoveVolumeParams } from '#gateway/app/sagas/move-volume.ts'
import { startServers } from '#gateway/app/servers/boot/start-servers.ts'
import { chargeVolumes } from '#gateway/app/volumes/quotas.ts'
import type { Volume, VolumeStatus } from '#gateway/app/volumes/volume.ts'
import { queueHeldStatus } from '#gateway/db/held-volumes.ts'
import { images } from '#gateway/db/schema/image.ts'
import { operations } from '#gateway/db/schema/operations.ts'
import {
  queueAttached,
  queueAttachment,
  queueServerVolumes,
} from '#gateway/db/volume-attachments.ts'
import { contentLeft } from '#gateway/db/volume-moves.ts'
import { volumeQuotaRows } from '#gateway/db/volume-quotas.ts'
import { findVolume, insertVolume } from '#gateway/db/volumes.ts'
import type { VolumeView } from '#openapi/wire/cell-volume.ts'
import { CoreEnv, orderFor, work } from '../env/compute-core.ts'
import type { ScriptedCell } from '../env/scripted-cell.ts'

const LIMIT_MS = 60_000

/** A move whose server takes the volume along. */
export type CarriedMove = MoveVolumeParams & { readonly carrierId: InstanceId }

/** Two scripted cells that make and delete volumes, and what each of them has. */
export class VolumeMoveWorld implements AsyncDisposable {
  readonly env: CoreEnv
  readonly core: RunningCompute
  readonly north: ScriptedCell
  readonly south: ScriptedCell
  /** What each cell has: the attempt of each volume. As in a cell, the first outcome for an attempt counts for good. */
  readonly held = new Map<ScriptedCell, Map<string, number>>()
  /** Why cells refuse to make volumes; undefined: they do not. */
  refusal: string | undefined
  /** Creates that a cell began, each attempt once. */
  #made: string[] = []
  #projectId = newId<string>()

  private constructor(env: CoreEnv, core: RunningCompute) {
    this.env = env
    this.core = core
    ;[this.north, this.south] = env.cells as [ScriptedCell, ScriptedCell]
  }

  static async open(name: string): Promise<VolumeMoveWorld> {
    const env = await CoreEnv.open(name, ['north', 'south'])
    const core = await env.core()
    await env.untilResynced(core)
    return new VolumeMoveWorld(env, core)
  }

  /** Afterwards the cells have nothing, and do as they are asked. */
  reset(): void {
    this.#projectId = newId<string>()
    this.refusal = undefined
    this.#made = []
    for (const cell of this.env.cells) this.#script(cell)
  }

  /** A volume of the northern cell, and its move to the southern. */
  async movable(encryption: Volume['encryption'] = null): Promise<MoveVolumeParams> {
    const { env, north, south } = this
    const projectId = this.#projectId
    const id = newId<VolumeId>()
    await env.db.transaction(async (tx) => {
      await insertVolume(tx, {
        ...{ id, projectId, userId: 'user', name: null, description: null, metadata: {} },
        ...{ typeId: null, specs: {}, zone: 'nova', sizeGb: 3, isBootable: false },
        ...{ isMultiattach: false, source: null, imageMetadata: null, cellId: north.id },
        ...{ status: 'available', encryption, fault: null, sagaId: null },
      })
      await chargeVolumes(tx, { projectId, typeId: null }, { volumes: 1, gigabytes: 3 })
    })
    this.held.get(north)!.set(id, 1)
    const made = { imageId: newId<string>(), sourceId: id, backupsKept: null }
    const order = {
      ...{ ...made, purpose: 'volume-move' as const, owner: projectId, name: 'v-move' },
      ...{ minDiskGb: 3, minRamMb: 0, properties: {} },
    }
    return {
      ...{ volumeId: id, fromCellId: north.id, toCellId: south.id, reason: null, userId: 'u' },
      ...{ order, uploadId: newId<string>(), createId: newId<string>() },
    }
  }

  /** The same of a volume that a server has, which is on no host and takes it along. */
  async carried(change: { readonly isRoot?: true } = {}): Promise<CarriedMove> {
    const { env, core, north } = this
    const order = orderFor(north)
    const { id: carrierId } = order.servers[0]!.row
    const [run] = await startServers(core, work(), order)
    await run!.finished
    await env.until(carrierId, ({ vmState }) => vmState === 'active')
    await this.showServer(carrierId, 'shelved_offloaded')
    const params = await this.movable()
    const { volumeId } = params
    await env.db.transaction(async (tx) => {
      const id = newId<AttachmentId>()
      const how = { tag: null, deletesVolume: false, isRoot: false, device: null, ...change }
      queueAttachment(tx, { ...how, id, volumeId, serverId: carrierId }, () => new Error('held'))
      queueAttached(tx, id)
      queueHeldStatus(tx, volumeId)
      queueServerVolumes(tx, carrierId)
    })
    expect(await findVolume(env.db, volumeId)).toMatchObject({ status: 'in-use' })
    return { ...params, carrierId }
  }

  /** Afterwards the northern cell has said that its server is so. */
  async showServer(id: InstanceId, vmState: 'active' | 'shelved_offloaded'): Promise<void> {
    const view = this.north.change(id, { vmState })
    this.north.emit([{ kind: 'instance', view }])
    await this.env.until(id, (server) => server.vmState === vmState)
  }

  /** The operation of the move; undefined: none was begun. */
  async operationOf({ volumeId }: MoveVolumeParams) {
    const rows = await this.env.db.orm
      .select()
      .from(operations)
      .where(eq(operations.subjectId, volumeId))
    return rows[0]
  }

  /** The volume is this cell's, in this attempt, charged once, and no other cell has anything of it. */
  async expectIn(
    cell: ScriptedCell,
    { volumeId }: MoveVolumeParams,
    attempt: number,
    status: VolumeStatus = 'available',
  ): Promise<void> {
    const { env, held } = this
    const is = { cellId: cell.id, attempt, status, sagaId: null, chargedGb: 3 }
    await expect.poll(() => findVolume(env.db, volumeId), { timeout: LIMIT_MS }).toMatchObject(is)
    const rows = await volumeQuotaRows(env.db, this.#projectId)
    const used = rows.map((row) => [row.resource, row.used])
    expect(Object.fromEntries(used)).toEqual({ volumes: 1, gigabytes: 3 })
    await waitFor(
      'nothing elsewhere',
      async () => {
        const left = await contentLeft(
          env.db,
          env.cells.map(({ id }) => id),
          '',
          1_000,
        )
        return left.every((each) => each.volumeId !== volumeId)
      },
      LIMIT_MS,
    )
    for (const each of env.cells)
      expect(held.get(each)!.get(volumeId), each.name).toBe(each === cell ? attempt : undefined)
    // No attempt is made twice, in any cell.
    expect(this.#made).toEqual([...new Set(this.#made)])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.core[Symbol.asyncDispose]()
    await this.env[Symbol.asyncDispose]()
  }

  #script(cell: ScriptedCell): void {
    const has = new Map<string, number>()
    const gone = new Set<string>()
    this.held.set(cell, has)
    cell.overrides = {
      'volume.box-key': ({ operation }) => ({ publicKey: boxKey(cell, operation) }),
      'volume.upload': async ({ operation, target, sealFor }) => {
        await this.#fillImage(target.imageId, operation.volumeId)
        const view = viewOf(operation.volumeId, operation.attempt, { version: 4 })
        return { view, ...(sealFor && { sealedKey: `for ${sealFor.publicKey}` }) }
      },
      'volume.create': ({ operation, volume }) => {
        const { volumeId, attempt } = operation
        const { encryption, source } = volume
        const key = source?.kind === 'sealed-image' ? source.sealedKey : undefined
        // As a cell, which has no other way to the content.
        if (key !== (encryption && `for ${boxKey(cell, operation)}`))
          throw new Failure('invalid', 'What was sealed for this cell cannot be opened.')
        if (this.refusal !== undefined) return { outcome: 'refused', reason: this.refusal }
        if (gone.has(`${volumeId} ${attempt}`)) return { outcome: 'deleted' }
        if (has.get(volumeId) !== attempt) this.#made.push(`${volumeId} ${attempt}`)
        has.set(volumeId, attempt)
        return { outcome: 'accepted', view: viewOf(volumeId, attempt) }
      },
      'volume.delete': ({ operation: { volumeId, attempt } }) => {
        gone.add(`${volumeId} ${attempt}`)
        if ((has.get(volumeId) ?? attempt) <= attempt) has.delete(volumeId)
        return { outcome: 'deleted' }
      },
    }
  }

  async #fillImage(id: string, volumeId: string): Promise<void> {
    const row = {
      ...{ id, name: 'saved', status: 'active', visibility: 'private', owner: 'p', sizeBytes: 1 },
      ...{ diskFormat: 'qcow2', containerFormat: 'bare', virtualSizeBytes: 1, properties: {} },
      ...{ md5: '0'.repeat(32), sha256: '1'.repeat(64), sha512: '2'.repeat(128), revision: 1 },
      ...{ minDiskGb: 3, minRamMb: 0, isProtected: false, isHidden: false },
      ...{ snapshotOf: volumeId, snapshotFor: 'volume-move' },
      ...{ createdAt: new Date(), updatedAt: new Date() },
    }
    await this.env.db.orm
      .insert(images)
      .values(row)
      .onDuplicateKeyUpdate({ set: { revision: 1 } })
  }
}

function viewOf(volumeId: string, attempt: number, change: Partial<VolumeView> = {}): VolumeView {
  return {
    ...{ volumeId, attempt, version: 2, state: 'available', sizeGb: 3, storeId: 's' },
    ...{ storeName: 's', zone: 'nova', fault: null, updatedAt: 1, ...change },
  }
}

function boxKey(
  { name }: ScriptedCell,
  { volumeId, attempt }: { readonly volumeId: string; readonly attempt: number },
): string {
  return `${name} ${volumeId} ${attempt}`
}
