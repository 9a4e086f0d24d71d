import { expect } from 'vitest'
import type { MigrateVolumeParams } from '#cells/conductor/sagas/migrate-volume.ts'
import type { RunningCell } from '#cells/context.ts'
import { readStores } from '#cells/db/stores.ts'
import { copiesOfVolume } from '#cells/db/volume-copies.ts'
import { findVolumeKeys } from '#cells/db/volume-keys.ts'
import { findVolume } from '#cells/db/volumes.ts'
import type { Store } from '#cells/volumes/store.ts'
import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { newId, type SagaId, type VolumeId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { VolumeRef } from '#drivers/volumes.ts'
import type { VolumeEncryption } from '#openapi/wire/cell-volume.ts'
import { type TestCell, type TestHost, testCell } from './test-cell.ts'

const LIMIT_MS = 30_000
const SIZE_GB = 2

/** A cell of two simulated hosts, each with a store of its own, between which volumes move. */
export class StoreMoveCell implements AsyncDisposable {
  readonly cell: TestCell
  readonly running: RunningCell
  readonly here: TestHost
  readonly there: TestHost

  private constructor(cell: TestCell, running: RunningCell, hosts: readonly [TestHost, TestHost]) {
    this.cell = cell
    this.running = running
    this.here = hosts[0]
    this.there = hosts[1]
  }

  static async start(name: string): Promise<StoreMoveCell> {
    const cell = await testCell(name)
    const running = await cell.addProcess('one')
    const here = await cell.addHost({ name: 'here' })
    const there = await cell.addHost({ name: 'there' })
    await cell.waitForHosts(running, 2)
    const made = new StoreMoveCell(cell, running, [here, there])
    await waitFor('two stores', async () => (await made.#stores()).length === 2, LIMIT_MS)
    return made
  }

  get db() {
    return this.running.cell.conductor.db
  }

  #stores(): Promise<readonly Store[]> {
    return readStores(this.db)
  }

  async storeOf({ id }: TestHost): Promise<Store> {
    return (await this.#stores()).find(({ hostIds }) => hostIds.includes(id))!
  }

  rowOf(id: string) {
    return findVolume(this.db, id as VolumeId)
  }

  keysOf(id: string) {
    return findVolumeKeys(this.db, [id], null)
  }

  /** A volume of the host `here`, made. */
  async madeVolume(encryption: VolumeEncryption | null): Promise<string> {
    const operation = { id: newId<string>(), volumeId: newId<VolumeId>(), attempt: 1 }
    const volume = {
      ...{ projectId: 'demo', sizeGb: SIZE_GB, zone: null, specs: {} },
      ...(encryption && { encryption }),
      amongStores: [(await this.storeOf(this.here)).id],
    }
    await this.cell.ask('volume.create', { operation, volume })
    const isMade = async () => (await this.rowOf(operation.volumeId))?.state === 'available'
    await waitFor('the volume', isMade, LIMIT_MS)
    return operation.volumeId
  }

  /** What begins the saga that moves the volume to the other host's store. */
  async startOf(volumeId: string, how: Pick<MigrateVolumeParams, 'encryption' | 'before' | 'key'>) {
    const volume = (await this.rowOf(volumeId))!
    const to = volume.hostId === this.here.id ? this.there : this.here
    const store = await this.storeOf(to)
    const place = { storeId: store.id, storeName: store.name, hostId: to.id, zone: 'nova' }
    const operation = { id: newId<string>(), volumeId, attempt: 1 }
    const ids = { copyId: newId<string>(), makeId: newId<string>() }
    const params: MigrateVolumeParams = {
      ...{ operation, volume, place, limitGb: 1_000, ...ids, ...how },
    }
    return { id: newId<SagaId>(), subject: volumeId, params, work: workContext({}) }
  }

  /** Afterwards no saga has the volume, and no store has what is left of it. */
  async settled(id: string): Promise<void> {
    await waitFor(
      'the move to end',
      async () => {
        const row = await this.rowOf(id)
        return row?.sagaId == null && (await copiesOfVolume(this.db, id)).length === 0
      },
      LIMIT_MS,
    )
  }

  async isIn(host: TestHost, id: string): Promise<boolean> {
    return (await this.#listed(host)).some((each) => each.id === id)
  }

  async #listed(host: TestHost) {
    const { id } = await this.storeOf(host)
    return host.driver.volumes!.list(id, AbortSignal.timeout(10_000))
  }

  /** The volume is available in the store of this host alone, encrypted or not, and each store counts what it has. */
  async expectIn(
    host: TestHost,
    id: string,
    { isEncrypted }: { readonly isEncrypted: boolean },
  ): Promise<void> {
    const { id: storeId } = await this.storeOf(host)
    const place = { storeId, hostId: host.id }
    expect(await this.rowOf(id)).toMatchObject({ state: 'available', sizeGb: SIZE_GB, ...place })
    for (const each of [this.here, this.there])
      expect(await this.isIn(each, id), each.name).toBe(each === host)
    expect(await this.keysOf(id)).toHaveLength(isEncrypted ? 1 : 0)
    expect(await this.#isEncrypted(host, { store: storeId, id: id as VolumeId })).toBe(isEncrypted)
    await this.expectCounted()
  }

  /** Hosts make no image of what is encrypted. */
  async #isEncrypted({ driver }: TestHost, volume: VolumeRef): Promise<boolean> {
    try {
      await using _image = await driver.volumes!.export(volume, 'raw', AbortSignal.timeout(10_000))
      return false
    } catch (error) {
      if (isFailure(error, 'unsupported')) return true
      throw error
    }
  }

  async expectCounted(): Promise<void> {
    for (const host of [this.here, this.there]) {
      const { promisedGb } = await this.storeOf(host)
      expect(promisedGb, host.name).toBe(SIZE_GB * (await this.#listed(host)).length)
    }
  }

  clearFaults(): void {
    for (const { driver } of [this.here, this.there]) driver.faults.set([])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cell[Symbol.asyncDispose]()
  }
}
