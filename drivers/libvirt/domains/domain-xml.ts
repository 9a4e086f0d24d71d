import type { InstanceSpec, NicSpec, Owner } from '../../driver.ts'
import { filterName } from '../firewall/filter-name.ts'
import type { InstanceFiles } from '../instance-files.ts'
import { networkName } from '../networks/network-name.ts'
import { ownerStamp } from '../ownership.ts'
import { element, renderXml, type XmlElement } from '../xml/element.ts'
import { domainName } from './domain-name.ts'

export type VirtType = 'qemu' | 'kvm'

export interface DomainPlan {
  readonly spec: InstanceSpec
  readonly owner: Owner
  readonly files: InstanceFiles
  readonly virtType: VirtType
}

/**
 * The domain of an instance. Machine `pc` with an IDE drive for the config drive, because kernels made for clouds
 * often have no AHCI driver and would not see a SATA one.
 */
export function domainXml(plan: DomainPlan): string {
  const { spec, owner, virtType } = plan
  const { flavor } = spec
  const kvm = virtType === 'kvm'
  return renderXml(
    element(
      'domain',
      { type: virtType },
      element('name', {}, domainName(spec.id)),
      element('uuid', {}, spec.id),
      element('metadata', {}, ownerStamp(owner, spec.id, displayElement(spec))),
      element('memory', { unit: 'MiB' }, String(flavor.memoryMb)),
      element('vcpu', {}, String(flavor.vcpus)),
      element('os', {}, element('type', { arch: 'x86_64', machine: 'pc' }, 'hvm'), bootFrom('hd')),
      element('features', {}, element('acpi'), element('apic')),
      kvm ? element('cpu', { mode: 'host-model' }) : undefined,
      element('clock', { offset: 'utc' }),
      element('on_poweroff', {}, 'destroy'),
      element('on_reboot', {}, 'restart'),
      element('on_crash', {}, 'destroy'),
      element('devices', {}, ...devices(plan)),
    ),
  )
}

function displayElement(spec: InstanceSpec): XmlElement {
  return element(
    'weir:display',
    {},
    element('weir:name', {}, spec.displayName),
    element('weir:project', {}, spec.projectId),
    element('weir:flavor', {}, spec.flavor.name),
  )
}

function bootFrom(device: string): XmlElement {
  return element('boot', { dev: device })
}

function devices({ spec, owner, files }: DomainPlan): XmlElement[] {
  const disks = [files.rootDisk]
  if (spec.flavor.ephemeralGb > 0) disks.push(files.ephemeralDisk)
  if (spec.flavor.swapMb > 0) disks.push(files.swapDisk)
  return [
    ...disks.map((path, index) => disk(path, `vd${'abc'[index]}`)),
    ...(spec.configDrive === undefined ? [] : [cdrom(files.configDrive)]),
    ...spec.nics.map((nic) => nicElement(owner, nic)),
    // A second name for the same port, which older clients of libvirt look for.
    ...(['serial', 'console'] as const).map((kind) => serialPort(kind, files.consoleLog)),
    ...screen(files.vncSocket),
    element('controller', { type: 'usb', model: 'none' }),
    element('memballoon', { model: 'virtio' }, element('stats', { period: 10 })),
    element('rng', { model: 'virtio' }, element('backend', { model: 'random' }, '/dev/urandom')),
  ]
}

function disk(path: string, target: string): XmlElement {
  return element(
    'disk',
    { type: 'file', device: 'disk' },
    element('driver', { name: 'qemu', type: 'qcow2', cache: 'none', discard: 'unmap' }),
    element('source', { file: path }),
    element('target', { dev: target, bus: 'virtio' }),
  )
}

function cdrom(path: string): XmlElement {
  return element(
    'disk',
    { type: 'file', device: 'cdrom' },
    element('driver', { name: 'qemu', type: 'raw' }),
    element('source', { file: path }),
    element('target', { dev: 'hda', bus: 'ide' }),
    element('readonly'),
  )
}

/** One NIC as the domain has it, to be attached or detached. */
export function nicXml(owner: Owner, nic: NicSpec): string {
  return renderXml(nicElement(owner, nic))
}

function nicElement(owner: Owner, nic: NicSpec): XmlElement {
  return element(
    'interface',
    { type: 'network' },
    element('mac', { address: nic.macAddress }),
    element('source', { network: networkName(owner, nic.networkId) }),
    element('model', { type: 'virtio' }),
    element('mtu', { size: nic.mtu }),
    element('filterref', { filter: filterName(nic.portId) }),
  )
}

function serialPort(kind: 'serial' | 'console', logPath: string): XmlElement {
  return element(
    kind,
    { type: 'pty' },
    // Kept over restarts of the guest; virtlogd rotates it, so it stays bounded.
    element('log', { file: logPath, append: 'on' }),
    element('target', kind === 'serial' ? { port: 0 } : { type: 'serial', port: 0 }),
  )
}

/** sockaddr_un.sun_path of Linux, without the closing zero byte. */
const SOCKET_PATH_MAX = 107

/** On a socket that nobody but the host reaches; no screen where its path would be too long for one. */
function screen(socket: string): XmlElement[] {
  if (Buffer.byteLength(socket) > SOCKET_PATH_MAX) return []
  return [
    element('graphics', { type: 'vnc' }, element('listen', { type: 'socket', socket })),
    element('video', {}, element('model', { type: 'vga' })),
  ]
}
