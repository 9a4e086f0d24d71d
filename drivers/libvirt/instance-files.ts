import { join } from 'node:path'
import type { InstanceId } from '#common/ids.ts'
import { uuidBytes } from './rpc/uuid-bytes.ts'

/** Where everything of one instance lies: a folder named by its id, so that removing it removes all. */
export interface InstanceFiles {
  readonly folder: string
  /** The changes that destroy must undo, written before the first of them is made. */
  readonly record: string
  readonly rootDisk: string
  readonly ephemeralDisk: string
  readonly swapDisk: string
  readonly configDrive: string
  /** The variables of a guest's UEFI firmware; missing before its first start. */
  readonly nvram: string
  /** The kernel with which it is started, if its image names one. */
  readonly kernel: string
  readonly ramdisk: string
  readonly consoleLog: string
  /** Where QEMU serves the screen while the guest runs. */
  readonly vncSocket: string
  /** Where QEMU receives a guest from a host of the same machine. */
  readonly arrival: { readonly memory: string; readonly disks: string }
  /** The copy of the root disk while an image is filled from it. */
  readonly snapshot: string
  /** What of the root disk has been written since another image was filled from it. */
  readonly changes: string
  /** The files of a rescue. */
  readonly rescue: {
    readonly disk: string
    readonly configDrive: string
    readonly kernel: string
    readonly ramdisk: string
  }
  /** The root disk in one file, ready to be carried to another host. */
  readonly packed: string
  /** The folder for files that arrive from another host. */
  readonly incoming: string
  /** Disks as they were before a resize that may still be taken back. */
  readonly before: { readonly rootDisk: string; readonly ephemeralDisk: string }
}

/** The paths of a server's files on its host, whether they exist or not. */
export function instanceFiles(stateDirectory: string, id: InstanceId): InstanceFiles {
  const folder = join(instancesFolder(stateDirectory), id)
  // Sockets are not in the folder: with the whole id in it their paths would often be too long.
  const shortName = Buffer.from(uuidBytes(id)).toString('base64url')
  return {
    folder,
    record: join(folder, 'instance.json'),
    rootDisk: join(folder, 'root.qcow2'),
    ephemeralDisk: join(folder, 'ephemeral.qcow2'),
    swapDisk: join(folder, 'swap.qcow2'),
    configDrive: join(folder, 'config.iso'),
    nvram: join(folder, 'nvram.fd'),
    kernel: join(folder, 'kernel'),
    ramdisk: join(folder, 'ramdisk'),
    consoleLog: join(folder, 'console.log'),
    vncSocket: join(screensFolder(stateDirectory), shortName),
    arrival: {
      memory: join(arrivalsFolder(stateDirectory), `${shortName}.m`),
      disks: join(arrivalsFolder(stateDirectory), `${shortName}.d`),
    },
    snapshot: join(folder, 'snapshot.qcow2'),
    changes: join(folder, 'changes.qcow2'),
    rescue: {
      disk: join(folder, 'rescue.qcow2'),
      configDrive: join(folder, 'rescue-config.iso'),
      kernel: join(folder, 'rescue-kernel'),
      ramdisk: join(folder, 'rescue-ramdisk'),
    },
    packed: join(folder, 'packed.qcow2'),
    incoming: join(folder, 'incoming'),
    before: {
      rootDisk: join(folder, 'root-before.qcow2'),
      ephemeralDisk: join(folder, 'ephemeral-before.qcow2'),
    },
  }
}

export function instancesFolder(stateDirectory: string): string {
  return join(stateDirectory, 'instances')
}

/** The sockets of the screens of all guests. */
export function screensFolder(stateDirectory: string): string {
  return join(stateDirectory, 'vnc')
}

/** The sockets by which guests come in that run. */
export function arrivalsFolder(stateDirectory: string): string {
  return join(stateDirectory, 'in')
}
