import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import ipaddr from 'ipaddr.js'
import { isFailure } from '#common/errors.ts'
import type { InstanceId, NetworkId } from '#common/ids.ts'
import { KeyedLock } from '#drivers/keyed-lock.ts'
import { storageFailure } from '#drivers/storage-failure.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import type { GuestLabels, ServerLabels } from '#openapi/wire/labels.ts'
import type { WireAttachment } from '#openapi/wire/volume.ts'
import type { TaggedDisk } from './openstack-files.ts'

/** What is kept of a build: no secret that only a config drive has, and no right to read an image. */
export type GuestBuild = Omit<InstanceBuild, 'adminPassword' | 'files' | 'image' | 'remarks'> & {
  readonly imageId: string
}
type Nic = InstanceBuild['nics'][number]

/** A guest of this host, as the metadata service shows it. */
export interface GuestRecord {
  readonly id: InstanceId
  readonly attempt: number
  readonly build: GuestBuild
  readonly labels: GuestLabels
  /** What the guest published, encrypted with its owner's key; null: nothing, or it was cleared. */
  readonly password: string | null
  /** Its volumes with tags; absent: none. */
  readonly disks?: readonly TaggedDisk[]
}

const NO_LABELS: GuestLabels = { securityGroups: [], publicIpv4: null, passwordClears: 0 }
const WRITE_MS = 30_000

/**
 * The guests of this host for the metadata service, each in a file that outlives the process. Every change calls
 * `onChange`.
 */
export class MetadataStore {
  readonly #folder: string
  readonly #guests: Map<InstanceId, GuestRecord>
  readonly #lock = new KeyedLock<InstanceId>()
  onChange: () => void = () => {}

  private constructor(folder: string, guests: readonly GuestRecord[]) {
    this.#folder = folder
    this.#guests = new Map(guests.map((guest) => [guest.id, guest]))
  }

  /** Reads what an earlier process left; a file that was cut off while it was written is passed over. */
  static async open(folder: string): Promise<MetadataStore> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const names = (await readdir(folder)).filter((name) => name.endsWith('.json'))
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
    return new MetadataStore(
      folder,
      texts.map((text) => JSON.parse(text) as GuestRecord),
    )
  }

  /** Afterwards the guest is shown as built so; its labels and its password stay. */
  put(id: InstanceId, attempt: number, build: InstanceBuild): Promise<void> {
    const { adminPassword: _password, files: _files, image, remarks: _remarks, ...rest } = build
    return this.#change(id, (before) => ({
      ...{ labels: NO_LABELS, password: null },
      ...before,
      ...{ id, attempt, build: { ...rest, imageId: image.id } },
    }))
  }

  /**
   * Does work that builds the guest so: the guest may ask before the work ends. After a failure it is shown as before,
   * unless the outcome is unknown (`unavailable`) and the work will be repeated.
   */
  async during<T>(
    id: InstanceId,
    attempt: number,
    build: InstanceBuild,
    work: () => Promise<T>,
  ): Promise<T> {
    const before = this.#guests.get(id)
    await this.put(id, attempt, build)
    try {
      return await work()
    } catch (thrown) {
      const error = storageFailure(thrown)
      if (isFailure(error) && error.kind !== 'unavailable') await this.#change(id, () => before)
      throw thrown
    }
  }

  /** Afterwards the guest is not shown. */
  remove(id: InstanceId): Promise<void> {
    return this.#change(id, () => undefined)
  }

  /** Afterwards the guest has the NIC. */
  attach(id: InstanceId, nic: Nic): Promise<void> {
    return this.#changeNics(id, (nics) => [
      ...nics.filter(({ portId }) => portId !== nic.portId),
      nic,
    ])
  }

  /** Afterwards a NIC that the guest has has the addresses of this one. */
  renew(id: InstanceId, nic: Nic): Promise<void> {
    return this.#changeNics(id, (nics) =>
      nics.map((each) => (each.portId === nic.portId ? { ...each, ...nic } : each)),
    )
  }

  /** Afterwards the guest does not have the NIC of this port. */
  detach(id: InstanceId, portId: string): Promise<void> {
    return this.#changeNics(id, (nics) => nics.filter((nic) => nic.portId !== portId))
  }

  /** Afterwards the guest finds the volume by its tag, if it has one. */
  attachVolume(
    id: InstanceId,
    { id: attachmentId, volumeId, tag }: Pick<WireAttachment, 'id' | 'volumeId' | 'tag'>,
  ): Promise<void> {
    return this.#changeDisks(id, (disks) => [
      ...disks.filter((disk) => disk.attachmentId !== attachmentId),
      ...(tag === undefined ? [] : [{ attachmentId, serial: volumeId, tag }]),
    ])
  }

  /** Afterwards the guest is not told of the volume. */
  detachVolume(id: InstanceId, attachmentId: string): Promise<void> {
    return this.#changeDisks(id, (disks) =>
      disks.filter((disk) => disk.attachmentId !== attachmentId),
    )
  }

  /** Afterwards a guest that is here is shown with these labels, and without a password that was cleared since. */
  label({ serverId, name, hostname, metadata, guest }: ServerLabels): Promise<void> {
    return this.#change(serverId as InstanceId, (before) => {
      if (before === undefined) return undefined
      const labels = guest ?? before.labels
      const isCleared = labels.passwordClears > before.labels.passwordClears
      return {
        ...before,
        ...(isCleared && { password: null }),
        labels,
        build: { ...before.build, name, hostname, metadata },
      }
    })
  }

  /** False if the guest has published a password before, which stays; else it is kept, to be reported. */
  async publishPassword(id: InstanceId, password: string): Promise<boolean> {
    let isTaken = false
    await this.#change(id, (before) => {
      if (before === undefined || before.password !== null) return before
      isTaken = true
      return { ...before, password }
    })
    return isTaken
  }

  guests(): readonly GuestRecord[] {
    return [...this.#guests.values()]
  }

  /** The guests that have published a password. */
  withPassword(): readonly GuestRecord[] {
    return this.guests().filter(({ password }) => password !== null)
  }

  /** The guest whose port on the network has the address; an IPv6 address of the link is that of its MAC address. */
  at(networkId: NetworkId, address: string): GuestRecord | undefined {
    const wanted = ipaddr.process(address.replace(/%.*/, '')).toString()
    return [...this.#guests.values()].find(({ build }) =>
      build.nics.some(
        (nic) => nic.networkId === networkId && addressesOf(nic).some((each) => each === wanted),
      ),
    )
  }

  /** The networks of all guests. */
  networks(): ReadonlySet<NetworkId> {
    const nics = [...this.#guests.values()].flatMap(({ build }) => build.nics)
    return new Set(nics.map(({ networkId }) => networkId as NetworkId))
  }

  #changeNics(id: InstanceId, change: (nics: readonly Nic[]) => readonly Nic[]): Promise<void> {
    return this.#change(id, (before) => {
      if (before === undefined) return undefined
      return { ...before, build: { ...before.build, nics: [...change(before.build.nics)] } }
    })
  }

  #changeDisks(
    id: InstanceId,
    change: (disks: readonly TaggedDisk[]) => readonly TaggedDisk[],
  ): Promise<void> {
    return this.#change(id, (before) => {
      if (before === undefined) return undefined
      return { ...before, disks: change(before.disks ?? []) }
    })
  }

  async #change(
    id: InstanceId,
    change: (before: GuestRecord | undefined) => GuestRecord | undefined,
  ): Promise<void> {
    await this.#lock.run(id, AbortSignal.timeout(WRITE_MS), async () => {
      const before = this.#guests.get(id)
      const after = change(before)
      if (isDeepStrictEqual(after, before)) return
      const file = join(this.#folder, `${id}.json`)
      if (after === undefined) {
        await rm(file, { force: true })
        this.#guests.delete(id)
      } else {
        await writeFile(`${file}.new`, JSON.stringify(after), { mode: 0o600 })
        await rename(`${file}.new`, file)
        this.#guests.set(id, after)
      }
      this.onChange()
    })
  }
}

function addressesOf({ fixedIps, macAddress }: Nic): readonly string[] {
  return [
    ...fixedIps.map(({ address }) => ipaddr.process(address).toString()),
    linkLocalOf(macAddress),
  ]
}

/** The address that a guest makes of its MAC address (RFC 4291, appendix A), and the only one that OVN lets it send from. */
function linkLocalOf(macAddress: string): string {
  const [first = 0, ...rest] = macAddress.split(':').map((byte) => Number.parseInt(byte, 16))
  const id = [first ^ 0x02, ...rest.slice(0, 2), 0xff, 0xfe, ...rest.slice(2)]
  return ipaddr.fromByteArray([0xfe, 0x80, 0, 0, 0, 0, 0, 0, ...id]).toString()
}
