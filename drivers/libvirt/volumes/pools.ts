import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Failure, isFailure } from '#common/errors.ts'
import { ifAbsent } from '#common/if-absent.ts'
import { errorFields, type Logger } from '#common/log.ts'
import type { DriverEnvironment } from '../../driver.ts'
import { Looks } from '../../looks.ts'
import { storeIdentity } from '../../store-identity.ts'
import type { StoreReport } from '../../volumes.ts'
import { element, renderXml } from '../xml/element.ts'
import { attributeAt, parseXml, textAt } from '../xml/parse.ts'
import { IscsiPools, type IscsiStore } from './iscsi/iscsi-pools.ts'
import type { PoolCalls } from './pool-calls.ts'
import { RbdPools, type RbdStore } from './rbd/rbd-pools.ts'
import { roomOf } from './room.ts'

/** A storage pool that is a folder of files. */
export interface FolderStore extends StoreReport {
  readonly engine: 'dir'
  readonly path: string
}

export type FoundStore = FolderStore | RbdStore | IscsiStore

/** Types of libvirt's pools whose volumes are files in a folder. */
const FOLDER_TYPES = ['dir', 'fs', 'netfs']
/** Those whose folder is a file system, which the daemon mounts. */
const MOUNTED_TYPES = ['fs', 'netfs']
const LOOK_MS = 3_000
/** Ceph's programs take their time to begin. */
const ROOM_MS = 4_500
/** Work with a store waits longer than a report of all. */
const WORK_MS = 10_000
/** A cluster that was seen so lately is reported, though a host with much to do may be slow to ask it. */
const RECENT_MS = 60_000

export interface PoolSettings {
  /** None: a pool of the host's own. */
  readonly names: readonly string[]
  readonly cephPrograms: string | undefined
}

/** The pools whose volumes this host offers: those that its settings name, or one of its own. */
export class Pools {
  readonly #environment: Pick<DriverEnvironment, 'owner' | 'stateDirectory'>
  readonly #names: readonly string[]
  readonly #calls: PoolCalls
  readonly #logger: Logger | undefined
  readonly #rbd: RbdPools
  readonly #iscsi: IscsiPools
  readonly #looks = new Looks<FoundStore>(
    (name) => this.#read(name, 'known', AbortSignal.timeout(10 * LOOK_MS)),
    WORK_MS,
  )
  /** The same, with the room that they have now. */
  readonly #rooms = new Looks<FoundStore>(
    (name) => this.#read(name, 'look', AbortSignal.timeout(10 * LOOK_MS)),
    ROOM_MS,
  )
  /** Why each is left out, as last told. */
  readonly #missing = new Map<string, string>()

  constructor(
    environment: Pick<DriverEnvironment, 'owner' | 'stateDirectory'>,
    { names, cephPrograms }: PoolSettings,
    calls: PoolCalls,
    logger: Logger | undefined,
  ) {
    this.#environment = environment
    this.#names = names
    this.#calls = calls
    this.#logger = logger
    const directory = join(environment.stateDirectory, 'ceph')
    this.#rbd = new RbdPools(directory, cephPrograms, calls)
    this.#iscsi = new IscsiPools(environment.owner.hostId, calls)
  }

  /** Those that answer within seconds. Throws `unavailable` while the daemon is away. */
  async reached(signal: AbortSignal): Promise<readonly FoundStore[]> {
    const looks = await Promise.allSettled(
      this.#pools.map(
        async (name) =>
          (await this.#find(this.#rooms, name, signal)) ?? this.#rbd.recent(name, RECENT_MS),
      ),
    )
    const found = looks.map((look) => (look.status === 'fulfilled' ? look.value : undefined))
    const failed = looks.find((look) => look.status === 'rejected')
    // A daemon that answers of one pool is not away, though its silence about another may have ended the session.
    if (failed !== undefined && found.every((each) => each === undefined)) throw failed.reason
    return found.filter((each) => each !== undefined)
  }

  /** Throws `not-found` for a store of no pool here, `unavailable` while it may be one that does not answer. */
  async get(id: string, signal: AbortSignal): Promise<FoundStore> {
    const finding = this.#pools.map((name) => this.#find(this.#looks, name, signal))
    // The others are used while one does not answer.
    const it = finding.map(async (each) => {
      const store = await each
      if (store?.id !== id) throw new Error('another store')
      return store
    })
    const store = await Promise.any(it).catch(() => undefined)
    if (store !== undefined) return store
    if ((await Promise.all(finding)).includes(undefined))
      throw new Failure('unavailable', `Store ${id} does not answer on this host, or is not there.`)
    throw new Failure('not-found', `Store ${id} could not be found on this host.`)
  }

  get #pools(): readonly string[] {
    return this.#names.length > 0 ? this.#names : [this.#ownName]
  }

  get #ownName(): string {
    return `weir-${this.#environment.owner.hostId}`
  }

  /** Undefined for a pool that cannot be used now. */
  async #find(
    looks: Looks<FoundStore>,
    name: string,
    signal: AbortSignal,
  ): Promise<FoundStore | undefined> {
    try {
      const store = await looks.at(name, signal)
      this.#missing.delete(name)
      return store
    } catch (error) {
      signal.throwIfAborted()
      if (isFailure(error, 'unavailable')) throw error
      const { message } = error as Error
      if (this.#missing.get(name) !== message)
        this.#logger?.warn({ pool: name, ...errorFields(error) }, 'storage pool left out')
      this.#missing.set(name, message)
      return undefined
    }
  }

  async #read(name: string, how: 'known' | 'look', signal: AbortSignal): Promise<FoundStore> {
    const isOwn = name === this.#ownName
    const pool =
      (await this.#calls.find(name, signal)) ?? (isOwn ? await this.#defineOwn(signal) : undefined)
    if (pool === undefined)
      throw new Failure('not-found', `The hypervisor has no storage pool ${name}.`)
    const xml = parseXml(await this.#calls.xml(pool, signal))
    const type = attributeAt(xml, 'type', 'pool')
    if (type === 'rbd') return this.#rbd[how](name, xml, signal)
    if (type === 'iscsi-direct') return this.#iscsi[how](name, xml, signal)
    if (!FOLDER_TYPES.includes(type))
      throw new Failure(
        'unsupported',
        `Storage pool ${name} is of type ${type}; volumes can be in pools of type ${FOLDER_TYPES.join(', ')}, rbd and iscsi-direct.`,
      )
    const path = textAt(xml, 'pool', 'target', 'path')
    if (isOwn) await mkdir(path, { recursive: true, mode: 0o711 })
    // A daemon that was restarted has forgotten that a pool was active.
    if (!(await this.#calls.isActive(pool, signal))) {
      // The daemon would wait for a folder that is silent, and with it all who ask it about the pool.
      await roomOf(path, signal)
      await this.#calls.start(pool, signal).catch((error: unknown) => {
        if (!isFailure(error, 'conflict')) throw error
      })
    }
    // First, because nothing else is asked of a folder that is silent.
    const room = await roomOf(path, signal)
    if (MOUNTED_TYPES.includes(type)) await refuseUnmounted(path)
    const id = await this.#identityOf(name, path)
    return {
      ...{ id, name, path, engine: 'dir', isShared: !isOwn, multiattach: true },
      encrypts: true,
      lacks: ['copy-shared-in-use'],
      ...room,
    }
  }

  /** Remembered, so that a folder whose file system is not mounted is not taken for a new store. */
  async #identityOf(name: string, path: string): Promise<string> {
    const folder = join(this.#environment.stateDirectory, 'stores')
    const file = join(folder, encodeURIComponent(name))
    const before = await readFile(file, 'utf8').catch(ifAbsent(undefined))
    const id = await storeIdentity(path, before)
    if (id !== before) {
      await mkdir(folder, { recursive: true })
      await writeFile(`${file}.new`, id, { flush: true })
      await rename(`${file}.new`, file)
    }
    return id
  }

  async #defineOwn(signal: AbortSignal) {
    const path = join(this.#environment.stateDirectory, 'volumes')
    await mkdir(path, { recursive: true, mode: 0o711 })
    const target = element('target', {}, element('path', {}, path))
    const pool = element('pool', { type: 'dir' }, element('name', {}, this.#ownName), target)
    return this.#calls.define(renderXml(pool), signal)
  }
}

/** A daemon does not see that a file system was unmounted: what hosts write into the folder then would be on their own disks. */
async function refuseUnmounted(path: string): Promise<void> {
  const [own, above] = [await stat(path), await stat(dirname(path))]
  if (own.dev === above.dev) throw new Failure('conflict', `Nothing is mounted at ${path}.`)
}
