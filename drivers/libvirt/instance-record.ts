import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { type InstanceId, isUuid } from '#common/ids.ts'
import { ifAbsent } from '#common/if-absent.ts'
import type { FlavorSpec, InstanceSpec, NicSpec } from '../driver.ts'
import type { RescueDevice } from './domains/rescue-device.ts'
import { type InstanceFiles, instanceFiles, instancesFolder } from './instance-files.ts'
import type { GuestPlacement } from './placement/place-guest.ts'
import type { AttachedVolume } from './volumes/volume-device.ts'

/** The record of an instance: its networks and images, and the input of its domain. */
export interface InstanceRecord {
  readonly version: 1
  readonly domain: DomainSubject
  readonly imageSha256: string
  /** The image a rebuild is changing it to, or was when it was interrupted. */
  readonly nextImageSha256?: string
  readonly nics: readonly NicSpec[]
  /** From before each is attached until after it is detached; absent: none. */
  readonly volumes?: readonly AttachedVolume[]
  /** Its disks and devices are not of this host's making. */
  readonly isAdopted?: true
  /** Which of the host's CPUs and memory it has to itself; absent: none. */
  readonly placement?: GuestPlacement
  /** Of an adopted one: for each vCPU the NUMA node of the host on which its domain keeps it; absent: it may be on any. */
  readonly boundTo?: readonly number[]
  /** The flavor whose resize the disks that are kept are from before; absent: none are. */
  readonly resizedTo?: string
  /** The state directory of the dead host it is being taken over from. */
  readonly takenFrom?: string
  /** From before a rescue is prepared until nothing of the rescue is left. */
  readonly rescue?: RescueRecord
}

/** Of a spec, what the domain shows and nothing that is secret. */
export interface DomainSubject {
  readonly displayName: string
  readonly projectId: string
  readonly flavor: FlavorSpec
  readonly imageProperties: Readonly<Record<string, string>>
  /** For each vCPU the NUMA node of the host that it is to be on; absent: it may be on any. */
  readonly hostNodes?: readonly number[]
}

export interface RescueRecord {
  readonly imageSha256: string
  readonly device: RescueDevice
  /** False: the instance's own config drive, if it has one. */
  readonly hasConfigDrive: boolean
  /** For the kernel that its image names. */
  readonly commandLine?: string
}

/** What the domain of a server is built from, and what its record keeps. */
export function domainSubject({
  displayName,
  projectId,
  flavor,
  image,
  hostNodes,
}: InstanceSpec): DomainSubject {
  const subject = { displayName, projectId, flavor, imageProperties: image.properties }
  return { ...subject, ...(hostNodes && { hostNodes }) }
}

/** The record of an instance that is new on its host. */
export function recordOfNew(
  spec: InstanceSpec,
  volumes: readonly AttachedVolume[],
): InstanceRecord {
  const { nics, image } = spec
  const common = {
    version: 1,
    imageSha256: image.sha256,
    nics,
    domain: domainSubject(spec),
  } as const
  return volumes.length === 0 ? common : { ...common, volumes }
}

/** Afterwards the record is on disk, whole, before any of what it names exists. */
export async function writeInstanceRecord(
  files: InstanceFiles,
  record: InstanceRecord,
): Promise<void> {
  // QEMU may run as a user of its own, which must pass through but not look around.
  await makeFolder(files.folder)
  const partial = `${files.record}.part`
  await writeFile(partial, JSON.stringify(record), { mode: 0o600, flush: true })
  await rename(partial, files.record)
}

/** Not with all above it: then Node says that they are absent when it may not write. */
async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o711 }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  })
}

/** The record, or undefined when the instance is not on this host. */
export async function readInstanceRecord(
  files: InstanceFiles,
): Promise<InstanceRecord | undefined> {
  const text = await readFile(files.record, 'utf8').catch(ifAbsent(undefined))
  return text === undefined ? undefined : (JSON.parse(text) as InstanceRecord)
}

/** Every record on this host, half-built instances included. */
export async function listInstanceRecords(
  stateDirectory: string,
): Promise<Map<InstanceId, InstanceRecord>> {
  const folder = instancesFolder(stateDirectory)
  const names = await readdir(folder).catch(ifAbsent([]))
  const records = new Map<InstanceId, InstanceRecord>()
  for (const id of names.filter(isUuid) as InstanceId[]) {
    const record = await readInstanceRecord(instanceFiles(stateDirectory, id))
    if (record !== undefined) records.set(id, record)
  }
  return records
}

/** Images that some instance's disks show. */
export async function imagesInUse(stateDirectory: string): Promise<ReadonlySet<string>> {
  const records = [...(await listInstanceRecords(stateDirectory)).values()]
  return new Set(
    records.flatMap(({ imageSha256, nextImageSha256 = imageSha256, rescue }) => [
      imageSha256,
      nextImageSha256,
      ...(rescue === undefined ? [] : [rescue.imageSha256]),
    ]),
  )
}

/** Afterwards no file of the instance is left. */
export async function removeInstanceFiles(files: InstanceFiles): Promise<void> {
  for (const socket of [files.vncSocket, files.arrival.memory, files.arrival.disks])
    await rm(socket, { force: true })
  await rm(files.folder, { recursive: true, force: true })
}

/** Afterwards no file of a rescue is left. */
export async function removeRescueFiles({ rescue }: InstanceFiles): Promise<void> {
  for (const path of Object.values(rescue)) await rm(path, { force: true })
}

/** The record of an instance whose rescue is over. */
export function withoutRescue({ rescue: _rescue, ...usual }: InstanceRecord): InstanceRecord {
  return usual
}
