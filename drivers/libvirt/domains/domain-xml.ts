import type { InstanceId } from '#common/ids.ts'
import type { Owner } from '../../driver.ts'
import type { Start } from '../disks/start-files.ts'
import type { DomainSubject } from '../instance-record.ts'
import { ownerStamp } from '../ownership.ts'
import type { GuestPlacement } from '../placement/place-guest.ts'
import { hostdevElements, placementElements } from '../placement/placement-elements.ts'
import { element, renderXml, type XmlElement } from '../xml/element.ts'
import { type DiskPlan, diskElements } from './disk-elements.ts'
import { domainName } from './domain-name.ts'
import type { GuestOptions, RandomRate } from './guest-options.ts'

export type VirtType = 'qemu' | 'kvm'

export interface DomainPlan extends DiskPlan {
  readonly id: InstanceId
  readonly subject: DomainSubject
  readonly options: GuestOptions
  /** Its NICs, as this host connects them. */
  readonly interfaces: readonly XmlElement[]
  readonly owner: Owner
  readonly virtType: VirtType
  /** As the guest is shown it; undefined: as its emulator has it. */
  readonly cpu: XmlElement | undefined
  readonly placement: GuestPlacement
  readonly start: Start | undefined
  /** CPUs of the host for guests without ones of their own; empty: all. */
  readonly sharedCpus: readonly number[]
}

/**
 * The domain of an instance. Machine `pc` with an IDE drive for the config drive, because kernels made for clouds
 * often have no AHCI driver and would not see a SATA one.
 */
export function domainXml(plan: DomainPlan): string {
  const { id, subject, owner, virtType, cpu, placement, sharedCpus } = plan
  const { flavor } = subject
  const cpuset = placement.pins ?? sharedCpus
  return renderXml(
    element(
      'domain',
      { type: virtType },
      element('name', {}, domainName(id)),
      element('uuid', {}, id),
      metadataElement(owner, id, subject),
      element('memory', { unit: 'MiB' }, String(flavor.memoryMb)),
      element(
        'vcpu',
        { cpuset: cpuset.length === 0 ? undefined : cpuset.join(',') },
        String(flavor.vcpus),
      ),
      ...placementElements(placement),
      boot(plan),
      features(plan),
      cpu,
      clock(plan),
      element('on_poweroff', {}, 'destroy'),
      element('on_reboot', {}, 'restart'),
      element('on_crash', {}, 'destroy'),
      element('devices', {}, ...devices(plan)),
    ),
  )
}

function boot({ options, files, start }: DomainPlan): XmlElement {
  const isUefi = options.firmware === 'efi'
  const part = (name: string, text: string | undefined) =>
    text === undefined ? undefined : element(name, {}, text)
  return element(
    'os',
    { firmware: isUefi ? 'efi' : undefined },
    element('type', { arch: 'x86_64', machine: 'pc' }, 'hvm'),
    part('nvram', isUefi ? files.nvram : undefined),
    options.hasBootMenu ? element('bootmenu', { enable: 'yes' }) : undefined,
    part('kernel', start?.kernel),
    part('initrd', start?.ramdisk),
    part('cmdline', start?.commandLine),
  )
}

function features({ options: { isHypervisorHidden, hasPmu } }: DomainPlan): XmlElement {
  const onOff = (isOn: boolean) => ({ state: isOn ? 'on' : 'off' })
  return element(
    'features',
    {},
    element('acpi'),
    element('apic'),
    isHypervisorHidden ? element('kvm', {}, element('hidden', onOff(true))) : undefined,
    hasPmu === null ? undefined : element('pmu', onOff(hasPmu)),
  )
}

function clock({ options: { hasHpet } }: DomainPlan): XmlElement {
  const hpet = { name: 'hpet', present: hasHpet === true ? 'yes' : 'no' }
  return element('clock', { offset: 'utc' }, hasHpet === null ? undefined : element('timer', hpet))
}

/** The owner of the domain, and facts about it for operators. */
export function metadataElement(owner: Owner, id: InstanceId, subject: DomainSubject): XmlElement {
  const display = element(
    'weir:display',
    {},
    element('weir:name', {}, subject.displayName),
    element('weir:project', {}, subject.projectId),
    element('weir:flavor', {}, subject.flavor.name),
  )
  return element('metadata', {}, ownerStamp(owner, id, display))
}

function devices(plan: DomainPlan): XmlElement[] {
  const { interfaces, files, options, placement } = plan
  const { rng, watchdog } = options
  return [
    ...diskElements(plan),
    ...interfaces,
    ...hostdevElements(placement),
    // A second name for the same port, which older clients of libvirt look for.
    ...(['serial', 'console'] as const).map((kind) => serialPort(kind, files.consoleLog)),
    ...(options.hasAgent ? [agentChannel()] : []),
    ...screen(files.vncSocket),
    element('controller', { type: 'usb', model: 'none' }),
    element('memballoon', { model: 'virtio' }, element('stats', { period: 10 })),
    ...(rng === null ? [] : [randomSource(rng)]),
    ...(watchdog === null ? [] : [element('watchdog', { model: 'i6300esb', action: watchdog })]),
  ]
}

function agentChannel(): XmlElement {
  const target = element('target', { type: 'virtio', name: 'org.qemu.guest_agent.0' })
  return element('channel', { type: 'unix' }, target)
}

function randomSource({ bytes, periodMs }: RandomRate): XmlElement {
  return element(
    'rng',
    { model: 'virtio' },
    bytes === null ? undefined : element('rate', { bytes, period: periodMs }),
    element('backend', { model: 'random' }, '/dev/urandom'),
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

/** On a socket that only the host can reach; no screen where its path would be too long for one. */
function screen(socket: string): XmlElement[] {
  if (Buffer.byteLength(socket) > SOCKET_PATH_MAX) return []
  return [
    element('graphics', { type: 'vnc' }, element('listen', { type: 'socket', socket })),
    element('video', {}, element('model', { type: 'vga' })),
  ]
}
