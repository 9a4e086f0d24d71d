import { Failure } from '#common/errors.ts'
import type { LibvirtHost } from '../host.ts'
import { isOff } from '../power.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { element, renderXml, type XmlElement } from '../xml/element.ts'
import { attributeAt, elementsAt, parseXml, type XmlTree } from '../xml/parse.ts'
import { type AttachedVolume, diskOf, volumeDisk } from './volume-device.ts'

/** Where a volume's disk finds its bytes, as `VolumeSource` names it. */
export interface DiskPlaces {
  /** The name of the disk in the guest; undefined: the guest is off, or does not have it. */
  readonly target: string | undefined
  /** Of the guest that runs. */
  readonly live: string | undefined
  /** At the next start. */
  readonly stored: string | undefined
}

export async function placesOf(
  host: LibvirtHost,
  domain: DomainRef,
  { attachmentId }: AttachedVolume,
  signal: AbortSignal,
): Promise<DiskPlaces> {
  const stored = diskOf(parseXml(await host.disks.definition(domain, signal)), attachmentId)
  if (await isOff(host, domain, signal))
    return { target: undefined, live: undefined, stored: placeOf(stored) }
  const live = diskOf(parseXml(await host.devices.xml(domain, signal)), attachmentId)
  const target = live && attributeAt(live, 'dev', 'target')
  return { target, live: placeOf(live), stored: placeOf(stored) }
}

function placeOf(disk: XmlTree | undefined): string | undefined {
  if (disk === undefined) return undefined
  return attributeAt(disk, 'file', 'source') || attributeAt(disk, 'name', 'source')
}

/** Afterwards the definition has this volume as the disk of its attachment, under the name and at the address that the disk has. */
export async function redefineDisk(
  host: LibvirtHost,
  domain: DomainRef,
  volume: AttachedVolume,
  signal: AbortSignal,
): Promise<void> {
  const disk = diskOf(parseXml(await host.disks.definition(domain, signal)), volume.attachmentId)
  if (disk === undefined)
    throw new Failure('conflict', `The definition has no disk for volume ${volume.id}.`)
  const xml = volumeDisk(volume, attributeAt(disk, 'dev', 'target'))
  await host.disks.redefine(domain, renderXml(withAddress(xml, disk)), signal)
}

/** A guest that starts again finds its disks where they were. */
function withAddress(xml: XmlElement, disk: XmlTree): XmlElement {
  const [address] = elementsAt(disk, 'address')
  if (address === undefined) return xml
  const attributes = Object.entries(address).flatMap(([name, value]) =>
    name.startsWith('@') && typeof value === 'string' ? [[name.slice(1), value]] : [],
  )
  return { ...xml, children: [...xml.children, element('address', Object.fromEntries(attributes))] }
}
