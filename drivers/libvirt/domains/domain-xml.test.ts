import { describe, expect, test } from 'vitest'
import { type AttachmentId, type CellId, type HostId, newId, type VolumeId } from '#common/ids.ts'
import type { InstanceSpec } from '../../driver.ts'
import { instanceSpec } from '../../testing/instance-spec.ts'
import { TestImages } from '../../testing/test-images.ts'
import { instanceFiles } from '../instance-files.ts'
import { domainSubject } from '../instance-record.ts'
import { attributeAt, elementsAt, parseXml, textAt, type XmlTree } from '../xml/parse.ts'
import { type DomainPlan, domainXml } from './domain-xml.ts'
import { guestOptions } from './guest-options.ts'
import { rescueDevice } from './rescue-device.ts'

const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
const image = new TestImages().add(Buffer.alloc(1))
const flavor = { ...instanceSpec(image).flavor, ephemeralGb: 2, swapMb: 8 }

function treeOf(spec: InstanceSpec, overrides: Partial<DomainPlan> = {}): XmlTree {
  const files = instanceFiles('/state', spec.id)
  const subject = domainSubject(spec)
  const xml = domainXml({
    ...{ id: spec.id, subject, options: guestOptions(subject), interfaces: [], owner, files },
    ...{
      virtType: 'qemu',
      rescue: undefined,
      cpu: undefined,
      placement: {},
      sharedCpus: [],
      start: undefined,
    },
    configDrive: spec.configDrive === undefined ? undefined : files.configDrive,
    ...overrides,
  })
  return parseXml(xml)
}

describe('domainXml()', () => {
  const plan = (overrides = {}) => {
    const spec = instanceSpec(image, overrides)
    return { spec, tree: treeOf(spec) }
  }

  test('texts of users are in the metadata only', () => {
    const displayName = '</name><name>evil</name>../../etc'
    const { spec, tree } = plan({ displayName, hostname: 'evil-host' })

    expect(elementsAt(tree, 'domain', 'name')).toHaveLength(1)
    expect(textAt(tree, 'domain', 'name')).toBe(`weir-${spec.id}`)
    const rest = { ...elementsAt(tree, 'domain')[0], metadata: [] }
    expect(JSON.stringify(rest)).not.toContain('evil')
  })

  test('volumes are named after all own disks; a rescue disk comes first, or last if it is stable', () => {
    const ids = [newId<VolumeId>(), newId<VolumeId>()]
    const volumes = ids.map((id) => ({
      ...{ id, store: 'store', attachmentId: newId<AttachmentId>(), path: `/pool/${id}` },
      ...{ isReadOnly: false, isShared: false },
    }))
    const namesIn = (rescue?: Readonly<Record<string, string>>) => {
      const device = rescue && rescueDevice(rescue)
      const tree = treeOf(instanceSpec(image, { flavor }), { volumes, rescue: device })
      const disks = elementsAt(tree, 'domain', 'devices', 'disk')
      const names = disks.map((disk) => attributeAt(disk, 'dev', 'target'))
      expect(new Set(names).size).toBe(names.length)
      const booted = disks.findIndex((disk) => elementsAt(disk, 'boot').length > 0)
      const own = ids.map((id) => names[disks.findIndex((disk) => textAt(disk, 'serial') === id)])
      return [names[booted], ...own]
    }

    expect(namesIn()).toEqual(['vda', 'vdd', 'vde'])
    expect(namesIn({})).toEqual(['vda', 'vde', 'vdf'])
    expect(namesIn({ hw_rescue_bus: 'virtio' })).toEqual(['vdf', 'vdd', 'vde'])
  })

  test('a guest that starts from a volume keeps all its disks in a rescue, and does not start from them', () => {
    const volume = (isRoot: boolean) => {
      const id = newId<VolumeId>()
      const how = { isReadOnly: false, isShared: false, ...(isRoot && { isRoot: true as const }) }
      return {
        id,
        store: 'store',
        attachmentId: newId<AttachmentId>(),
        path: `/pool/${id}`,
        ...how,
      }
    }
    const volumes = [volume(false), volume(true)]
    const disksIn = (rescue?: Readonly<Record<string, string>>) => {
      const device = rescue && rescueDevice(rescue)
      const tree = treeOf(instanceSpec(image, { flavor }), { volumes, rescue: device })
      return elementsAt(tree, 'domain', 'devices', 'disk').map((disk) => [
        attributeAt(disk, 'dev', 'target'),
        attributeAt(disk, 'file', 'source')!.split('/').at(-1),
        elementsAt(disk, 'boot').length,
      ])
    }
    const [data, root] = volumes.map(({ id }) => id)
    const own = [
      ['vdb', 'ephemeral.qcow2', 0],
      ['vdc', 'swap.qcow2', 0],
      ['vdd', data, 0],
    ]

    expect(disksIn()).toEqual([['vda', root, 1], ...own])
    const usual = [['vda', root, 0], ...own]
    const virtio = { hw_rescue_device: 'disk', hw_rescue_bus: 'virtio' }
    expect(disksIn(virtio)).toEqual([['vde', 'rescue.qcow2', 1], ...usual])
    const cdrom = { hw_rescue_device: 'cdrom', hw_rescue_bus: 'sata' }
    expect(disksIn(cdrom)).toEqual([['sda', 'rescue.qcow2', 1], ...usual])
  })

  test('a volume is read-only and shared as it is attached', () => {
    const volume = {
      ...{ id: newId<VolumeId>(), store: 'store', attachmentId: newId<AttachmentId>() },
      ...{ path: '/pool/volume', isReadOnly: true, isShared: true },
    }
    const tree = treeOf(instanceSpec(image), { volumes: [volume] })
    const disk = elementsAt(tree, 'domain', 'devices', 'disk').at(-1)!

    expect(attributeAt(disk, 'file', 'source')).toBe('/pool/volume')
    expect(attributeAt(disk, 'name', 'alias')).toBe(`ua-vol-${volume.attachmentId}`)
    expect(Object.keys(disk)).toEqual(expect.arrayContaining(['readonly', 'shareable']))
  })

  test('every path lies in the instance folder', () => {
    const { spec, tree } = plan({ configDrive: {}, flavor })
    const devices = elementsAt(tree, 'domain', 'devices')[0]!
    const disks = elementsAt(devices, 'disk', 'source').map((source) => attributeAt(source, 'file'))
    const logs = ['serial', 'console'].map((kind) => attributeAt(devices, 'file', kind, 'log'))

    expect(disks).toHaveLength(4)
    for (const path of [...disks, ...logs])
      expect(path.startsWith(`/state/instances/${spec.id}/`)).toBe(true)
  })

  test('its screen is on a socket in the state directory, and on none that could not be made', () => {
    const { tree } = plan()
    const devices = elementsAt(tree, 'domain', 'devices')[0]!
    expect(attributeAt(devices, 'type', 'graphics', 'listen')).toBe('socket')
    expect(attributeAt(devices, 'socket', 'graphics', 'listen')).toMatch(
      /^\/state\/vnc\/[\w-]{22}$/,
    )

    const spec = instanceSpec(image)
    const far = treeOf(spec, { files: instanceFiles(`/${'long'.repeat(30)}`, spec.id) })
    expect(elementsAt(far, 'domain', 'devices', 'graphics')).toEqual([])
  })

  test('it has only the devices that the server needs', () => {
    const { tree } = plan()
    const devices = elementsAt(tree, 'domain', 'devices')[0]!

    expect(elementsAt(devices, 'disk')).toHaveLength(1)
    expect(elementsAt(devices, 'interface')).toHaveLength(0)
    expect(textAt(tree, 'domain', 'memory')).toBe('128')
    expect(textAt(tree, 'domain', 'vcpu')).toBe('1')
    expect(attributeAt(tree, 'type', 'domain')).toBe('qemu')
  })

  test.each([
    [{}, ['vda', 'vdb', 'vdc', 'hda'], 'vda'],
    [{ hw_rescue_device: 'disk' }, ['vdc', 'vda', 'vdb', 'hda'], 'vdc'],
    [{ hw_rescue_device: 'cdrom' }, ['hdb', 'vda', 'vdb', 'hda'], 'hdb'],
    [{ hw_rescue_bus: 'scsi' }, ['sda', 'vda', 'vdb', 'hda'], 'sda'],
  ])('in rescue by an image with %j it boots from the rescue disk', (properties, names, boots) => {
    const two = { ...flavor, swapMb: 0 }
    const spec = instanceSpec(image, { flavor: two, configDrive: {} })
    const tree = treeOf(spec, { rescue: rescueDevice(properties) })
    const disks = elementsAt(tree, 'domain', 'devices', 'disk')

    expect(disks.map((disk) => attributeAt(disk, 'dev', 'target'))).toEqual(names)
    const booted = disks.filter((disk) => elementsAt(disk, 'boot').length > 0)
    expect(booted.map((disk) => attributeAt(disk, 'file', 'source'))).toEqual([
      `/state/instances/${spec.id}/rescue.qcow2`,
    ])
    expect(attributeAt(booted[0]!, 'dev', 'target')).toBe(boots)
  })

  test('firmware, watchdog, agent and random numbers are as image and flavor say', () => {
    const asked = { hw_firmware_type: 'uefi', hw_watchdog_action: 'reset' }
    const properties = { ...asked, hw_qemu_guest_agent: 'no' }
    const extraSpecs = { 'hw:watchdog_action': 'poweroff', 'hw_rng:rate_bytes': '64' }
    const spec = instanceSpec({ ...image, properties }, { flavor: { ...flavor, extraSpecs } })
    const tree = treeOf(spec)
    const devices = elementsAt(tree, 'domain', 'devices')[0]!

    expect(attributeAt(tree, 'firmware', 'domain', 'os')).toBe('efi')
    expect(attributeAt(devices, 'action', 'watchdog')).toBe('poweroff')
    expect(attributeAt(devices, 'bytes', 'rng', 'rate')).toBe('64')
    expect(elementsAt(devices, 'channel')).toEqual([])
    const plain = elementsAt(treeOf(instanceSpec(image)), 'domain', 'devices')[0]!
    expect(elementsAt(plain, 'watchdog')).toEqual([])
    expect(attributeAt(plain, 'name', 'channel', 'target')).toBe('org.qemu.guest_agent.0')
  })

  test('limits of disks, boot menu, hidden KVM and performance counters are as the flavor says', () => {
    const extraSpecs = {
      'quota:disk_read_bytes_sec': '1048576',
      'quota:disk_write_iops_sec': '0',
      'quota:disk_total_iops_sec': '500',
      'hw:boot_menu': 'true',
      'hw:hide_hypervisor_id': 'True',
      'hw:pmu': 'no',
    }
    const spec = instanceSpec(image, { configDrive: {}, flavor: { ...flavor, extraSpecs } })
    const tree = treeOf(spec)
    const limited = elementsAt(tree, 'domain', 'devices', 'disk').map((disk) =>
      elementsAt(disk, 'iotune').map((limits) => [
        textAt(limits, 'read_bytes_sec'),
        textAt(limits, 'total_iops_sec'),
        elementsAt(limits, 'write_iops_sec').length,
      ]),
    )

    const limits = [['1048576', '500', 0]]
    expect(limited).toEqual([limits, limits, limits, []])
    expect(attributeAt(tree, 'enable', 'domain', 'os', 'bootmenu')).toBe('yes')
    expect(attributeAt(tree, 'state', 'domain', 'features', 'kvm', 'hidden')).toBe('on')
    expect(attributeAt(tree, 'state', 'domain', 'features', 'pmu')).toBe('off')
    const plain = treeOf(instanceSpec(image))
    for (const path of [
      ['devices', 'disk', 'iotune'],
      ['os', 'bootmenu'],
      ['features', 'kvm'],
      ['features', 'pmu'],
    ])
      expect(elementsAt(plain, 'domain', ...path), path.join()).toEqual([])
  })

  test.each([
    ['true', 'yes'],
    ['off', 'no'],
  ])('an image with hw_time_hpet=%s decides about the timer', (asked, present) => {
    const tree = treeOf(instanceSpec({ ...image, properties: { hw_time_hpet: asked } }))
    const timer = elementsAt(tree, 'domain', 'clock', 'timer')

    expect(timer.map((each) => attributeAt(each, 'name'))).toEqual(['hpet'])
    expect(attributeAt(tree, 'present', 'domain', 'clock', 'timer')).toBe(present)
    expect(elementsAt(treeOf(instanceSpec(image)), 'domain', 'clock', 'timer')).toEqual([])
  })

  test('a limit of all beside one of reads or writes is refused, as QEMU would', () => {
    const extraSpecs = { 'quota:disk_total_bytes_sec': '9', 'quota:disk_read_bytes_sec': '9' }
    const spec = instanceSpec(image, { flavor: { ...flavor, extraSpecs } })

    expect(() => treeOf(spec)).toThrow('either quota:disk_total_bytes_sec, or reads and writes')
  })

  test('it starts from a kernel where it has one', () => {
    const start = { kernel: '/k', ramdisk: undefined, commandLine: 'console="<x>"' }
    const [os] = elementsAt(treeOf(instanceSpec(image), { start }), 'domain', 'os')

    expect(textAt(os!, 'kernel')).toBe('/k')
    expect(elementsAt(os!, 'initrd')).toEqual([])
    expect(textAt(os!, 'cmdline')).toBe('console=&quot;&lt;x&gt;&quot;')
  })

  test.each([
    { hw_firmware_type: 'coreboot' },
    { hw_watchdog_action: 'explode' },
    { hw_rng_model: 'dice' },
  ])('%j is refused', (properties) => {
    expect(() => treeOf(instanceSpec({ ...image, properties }))).toThrow(Object.keys(properties)[0])
  })
})
