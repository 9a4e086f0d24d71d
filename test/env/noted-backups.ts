import type { InstanceId } from '#common/ids.ts'
import { type Clusters, qcow2Of } from '#common/qcow2/testing.ts'
import type { BackupChanges, SavedBackup } from '#drivers/backup-changes.ts'
import type { DiskImage } from '#drivers/driver.ts'

/** The disk of a guest that writes one more cluster before each backup. */
interface NotedDisk {
  written: number
  /** By the name under which it is noted: how many had been written by then. */
  readonly names: Map<string, number>
}

/** The part of a host that notes what guests write since their backups, as libvirt hosts do, in memory. */
export class NotedBackups implements BackupChanges {
  readonly #disks = new Map<InstanceId, NotedDisk>()
  /** By the name of a backup and how many clusters were written by then: whether only changes were sent. */
  readonly #taken = new Map<string, boolean>()

  take(
    id: InstanceId,
    { name, since }: { readonly name: string; readonly since: string | null },
  ): Promise<SavedBackup> {
    const disk = this.#disk(id)
    disk.written += 1
    const noted = since === null ? undefined : disk.names.get(since)
    disk.names.set(name, disk.written)
    this.#taken.set(keyOf(name, disk.written), noted !== undefined)
    const content = qcow2Of(clusters(noted ?? 0, disk.written))
    return Promise.resolve({ disk: imageOf(content), isWhole: noted === undefined })
  }

  keep(id: InstanceId, name: string | null): Promise<void> {
    const { names } = this.#disk(id)
    for (const known of [...names.keys()]) if (known !== name) names.delete(known)
    return Promise.resolve()
  }

  /**
   * Whether only changes were sent of the backup of that name that has so many clusters; undefined: none has. A host takes
   * the disk again where it has lost an answer.
   */
  isOfChanges(name: string, written: number): boolean | undefined {
    return this.#taken.get(keyOf(name, written))
  }

  /** The names under which is noted what the guest writes. */
  namesOf(id: string): readonly string[] {
    return [...this.#disk(id as InstanceId).names.keys()]
  }

  #disk(id: InstanceId): NotedDisk {
    const disk = this.#disks.get(id) ?? { written: 0, names: new Map() }
    this.#disks.set(id, disk)
    return disk
  }
}

function keyOf(name: string, written: number): string {
  return `${name} ${written}`
}

/** Each has its number as its first byte. */
function clusters(after: number, upTo: number): Clusters {
  return Object.fromEntries(
    Array.from({ length: upTo - after }, (_, nth) => [after + nth, after + nth + 1]),
  )
}

function imageOf(content: Buffer): DiskImage {
  return {
    diskFormat: 'qcow2',
    sizeBytes: content.length,
    content: async function* () {
      yield content
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
