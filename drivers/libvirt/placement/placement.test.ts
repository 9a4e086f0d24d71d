import { describe, expect, test } from 'vitest'
import { instanceSpec } from '../../testing/instance-spec.ts'
import { TestImages } from '../../testing/test-images.ts'
import { domainSubject } from '../instance-record.ts'
import { element, renderXml } from '../xml/element.ts'
import { parseXml } from '../xml/parse.ts'
import { boundNodes } from './bound-nodes.ts'
import { cpuElement, cpuList, refuseUnknownModel } from './cpu-settings.ts'
import { hostNodes } from './host-nodes.ts'
import { devicesByClass, passthroughDevices, pciDevices } from './pci-devices.ts'
import { type HostPlaces, placeGuest } from './place-guest.ts'
import { hostdevElements, placementElements, seenElements } from './placement-elements.ts'
import { placementInXml } from './placement-in-xml.ts'
import { requestedPlacement } from './requested-placement.ts'

const image = new TestImages().add(Buffer.alloc(1))
const node = (id: number, cpus: readonly number[], large: number) =>
  `<cell id='${id}'><pages unit='KiB' size='4'>1000000</pages>
   <pages unit='KiB' size='2048'>${large}</pages>
   <cpus>${cpus.map((cpu) => `<cpu id='${cpu}'/>`).join('')}</cpus></cell>`
const nodes = hostNodes(`<capabilities><host><topology><cells>
  ${node(0, [0, 1, 2], 0)}${node(1, [3, 4, 5], 128)}</cells></topology></host></capabilities>`)

const DEVICES = [
  { address: '0000:3b:00.0', resourceClass: 'CUSTOM_PCI_GPU' },
  { address: '0000:3b:00.1', resourceClass: 'CUSTOM_PCI_GPU' },
  { address: '0000:04:00.1', resourceClass: 'CUSTOM_PCI_NIC' },
]

type Texts = Readonly<Record<string, string>>

function asked(extraSpecs: Texts, vcpus = 2, memoryMb = 129, properties: Texts = {}) {
  const { flavor } = instanceSpec(image)
  const sized = { ...flavor, vcpus, memoryMb, extraSpecs }
  const spec = instanceSpec({ ...image, properties }, { flavor: sized })
  return requestedPlacement(domainSubject(spec))
}

const placed = (extraSpecs: Texts, host: Partial<HostPlaces> = {}, vcpus = 2, memoryMb = 129) =>
  placeGuest(
    asked(extraSpecs, vcpus),
    { vcpus, memoryMb },
    { nodes, dedicated: [1, 2, 4], devices: DEVICES, others: [], ...host },
  )

describe('a guest', () => {
  test('that asks for nothing is anywhere', () => {
    expect(placed({})).toEqual({})
    expect(placed({ 'hw:cpu_policy': 'shared', 'hw:mem_page_size': 'small' })).toEqual({})
  })

  test('that asks for CPUs of its own gets dedicated ones that no other guest has', () => {
    const dedicated = { 'hw:cpu_policy': 'dedicated' }
    expect(placed(dedicated)).toEqual({ pins: [1, 2] })
    expect(placed(dedicated, { others: [{ pins: [1] }] })).toEqual({ pins: [2, 4] })
    const full = { others: [{ pins: [1] }, { pins: [2] }] }
    expect(() => placed(dedicated, full)).toThrow('has 1 of 2 dedicated CPUs free')
    expect(() => placed(dedicated, { dedicated: [] })).toThrow(/sets no CPUs apart/)
  })

  test('gets dedicated CPUs for the resource class of these, all of them or none', () => {
    expect(asked({ 'resources:PCPU': '2' }).isDedicated).toBe(true)
    expect(asked({ 'resources:PCPU': '0' }).isDedicated).toBe(false)
    for (const amount of ['1', '3'])
      expect(() => asked({ 'resources:PCPU': amount })).toThrow(`${amount}, and the flavor has 2`)
  })

  test('with memory nodes has each of them within another one of the host', () => {
    const two = { 'hw:numa_nodes': '2' }
    expect(placed(two, {}, 3)).toEqual({
      nodes: [
        { hostNode: 0, vcpus: [0], memoryMb: 64 },
        { hostNode: 1, vcpus: [1, 2], memoryMb: 65 },
      ],
    })
    expect(placed({ ...two, 'hw:cpu_policy': 'dedicated' })).toMatchObject({ pins: [1, 4] })
    expect(() => placed({ 'hw:numa_nodes': '3' }, {}, 4)).toThrow(/no 3 NUMA nodes/)
    expect(() => placed({ 'hw:numa_nodes': '2' }, {}, 1)).toThrow(/1 vCPUs/)
  })

  test('with large pages is where there are enough of them', () => {
    const onSecond = {
      pageKib: 2048,
      nodes: [{ hostNode: 1, vcpus: [0, 1], memoryMb: 129 }],
    }
    for (const size of ['large', '2048', '2MB', '2M', '2MiB'])
      expect(placed({ 'hw:mem_page_size': size })).toEqual(onSecond)
    expect(placed({ 'hw:mem_page_size': 'any' })).toEqual({})
    for (const size of ['large', '1GB'])
      expect(() => placed({ 'hw:mem_page_size': size }, { nodes: nodes.slice(0, 1) })).toThrow(
        /pages of the size asked for/,
      )
    // 65 of its 128 pages are this guest's: another one of its size finds 63.
    const held = { others: [onSecond] }
    expect(() => placed({ 'hw:mem_page_size': 'large' }, held)).toThrow(/pages of the size/)
    expect(placed({ 'hw:mem_page_size': 'large' }, held, 2, 126)).toMatchObject({ pageKib: 2048 })
  })

  test('is on the nodes that were claimed for it, or nowhere', () => {
    const on = (hostNodes: readonly number[], specs: Texts, host: Partial<HostPlaces> = {}) =>
      placeGuest(
        { ...asked(specs, hostNodes.length), hostNodes },
        { vcpus: hostNodes.length, memoryMb: 129 },
        { nodes, dedicated: [1, 2, 4], devices: [], others: [], ...host },
      )
    const dedicated = { 'hw:cpu_policy': 'dedicated' }

    expect(on([1, 1], { 'hw:numa_nodes': '1' })).toEqual({
      nodes: [{ hostNode: 1, vcpus: [0, 1], memoryMb: 129 }],
    })
    const swapped = on([1, 0], { 'hw:numa_nodes': '2', ...dedicated })
    expect(swapped.nodes?.map(({ hostNode }) => hostNode)).toEqual([1, 0])
    expect(swapped.pins).toEqual([4, 1])
    expect(on([1, 0], dedicated)).toEqual({ pins: [4, 1] })
    expect(on([0, 1, 0], dedicated)).toEqual({ pins: [1, 4, 2] })

    expect(() => on([1, 1], dedicated)).toThrow(
      'has too few dedicated CPUs free on the NUMA nodes that were claimed (1)',
    )
    expect(() => on([0, 1], dedicated, { others: [{ pins: [4] }] })).toThrow('claimed (0, 1)')
    // Node 0 has no large pages; its cell is told, and asks another host.
    expect(() => on([0, 0], { 'hw:mem_page_size': 'large' })).toThrow(
      'among those that were claimed (0)',
    )
    expect(() => on([0, 1], { 'hw:numa_nodes': '1' })).toThrow('has no 1 NUMA nodes')
    expect(() => on([7, 7], { 'hw:numa_nodes': '1' })).toThrow('claimed (7)')
  })

  test('has pages as its image says only where the flavor leaves it open', () => {
    const wish = { hw_mem_page_size: '2MB' }
    expect(asked({ 'hw:mem_page_size': 'any' }, 2, 1, wish).page).toEqual({ kib: 2048 })
    expect(asked({ 'hw:mem_page_size': 'small' }, 2, 1, wish).page).toBe('small')
    expect(asked({}, 2, 1, wish).page).toBeNull()
  })

  test('is lent devices of the classes it asks for that no other guest has', () => {
    const wish = { 'pci_passthrough:alias': 'gpu:1, nic' }
    expect(placed(wish)).toEqual({ devices: ['0000:3b:00.0', '0000:04:00.1'] })
    expect(placed({ 'pci_passthrough:alias': 'GPU' }, { others: [placed(wish)] })).toEqual({
      devices: ['0000:3b:00.1'],
    })
    expect(() => placed(wish, { others: [placed(wish)] })).toThrow(
      'This host has 0 CUSTOM_PCI_NIC free, 1 are needed.',
    )
    expect(() => placed({ 'pci_passthrough:alias': 'fpga:2' })).toThrow(/0 CUSTOM_PCI_FPGA free/)
  })

  test.each([
    { 'hw:cpu_policy': 'mine' },
    { 'hw:numa_nodes': '0' },
    { 'hw:mem_page_size': 'huge' },
    { 'hw:cpu_sockets': '2', 'hw:cpu_cores': '2' },
    { 'hw:cpu_max_sockets': '1', 'hw:cpu_max_cores': '1', 'hw:cpu_max_threads': '1' },
    { 'hw:cpu_sockets': '2', 'hw:cpu_max_sockets': '1' },
    { 'hw:cpu_max_cores': '0' },
    { 'pci_passthrough:alias': 'gpu:0' },
  ])('that asks for %j is refused', (extraSpecs) => {
    expect(() => asked(extraSpecs)).toThrow(expect.objectContaining({ kind: 'invalid' }))
  })
})

test.each<[Record<string, string>, number, number, number]>([
  [{ 'hw:cpu_max_sockets': '2' }, 2, 3, 1],
  [{ 'hw:cpu_max_sockets': '1', 'hw:cpu_max_cores': '2' }, 1, 2, 3],
  [{ 'hw:cpu_max_threads': '1', 'hw:cpu_max_sockets': '4' }, 3, 2, 1],
  [{ 'hw:cpu_threads': '2' }, 3, 1, 2],
  [{ 'hw:cpu_sockets': '2' }, 2, 3, 1],
  [{ 'hw:cpu_sockets': '2', 'hw:cpu_max_cores': '1' }, 2, 1, 3],
])('with %j six CPUs are seen as %i sockets of %i cores of %i threads', (extraSpecs, ...counts) => {
  const [sockets, cores, threads] = counts
  const { topology } = asked(extraSpecs, 6)

  expect(topology).toEqual({ sockets, cores, threads })
})

test('the CPUs that a foreign domain is pinned to are read from its XML', () => {
  const devices = ['0000:3b:00.1']
  const ours = [
    element('devices', {}, ...hostdevElements({ devices })),
    ...placementElements({ pins: [1, 4] }),
  ]
  const xml = renderXml(element('domain', {}, ...ours))
  expect(placementInXml(parseXml(xml))).toEqual({ pins: [1, 4], devices })
  const range = "<domain><cputune><vcpupin vcpu='0' cpuset='0-3,^2'/></cputune></domain>"
  expect(placementInXml(parseXml(range))).toEqual({ pins: [0, 1, 3] })
  expect(placementInXml(parseXml('<domain/>'))).toEqual({})
})

test.each<readonly [string, string, readonly number[] | undefined]>([
  ['its CPUs', "<vcpu cpuset='3-5'>2</vcpu>", [1, 1]],
  ['the CPU of each vCPU', pinsTo('0-2', '4'), [0, 1]],
  ['one vCPU alone', "<vcpu>2</vcpu><cputune><vcpupin vcpu='0' cpuset='3'/></cputune>", undefined],
  ['CPUs of several nodes', "<vcpu cpuset='2-3'>2</vcpu>", undefined],
  ['its memory', `<vcpu>2</vcpu>${memory('1')}`, [1, 1]],
  ['memory of several nodes', `<vcpu>2</vcpu>${memory('0-1')}`, undefined],
  ['memory that it prefers', `<vcpu>2</vcpu>${memory('1', 'preferred')}`, undefined],
  ['its CPUs, and memory elsewhere', `${pinsTo('0', '1')}${memory('1')}`, [0, 0]],
  [
    'the memory of each of its own nodes',
    `<vcpu>2</vcpu><cpu><numa><cell id='0' cpus='0' memory='1'/><cell id='1' cpus='1' memory='1'/></numa></cpu>
     <numatune><memnode cellid='0' mode='strict' nodeset='1'/><memnode cellid='1' nodeset='0'/></numatune>`,
    [1, 0],
  ],
  ['nothing', '<vcpu>2</vcpu>', undefined],
])('a domain of somebody else that is bound by %s', (_what, xml, expected) => {
  expect(boundNodes(parseXml(`<domain>${xml}</domain>`), nodes)).toEqual(expected)
})

function pinsTo(...cpusets: readonly string[]): string {
  const pins = cpusets.map((cpuset, vcpu) => `<vcpupin vcpu='${vcpu}' cpuset='${cpuset}'/>`)
  return `<vcpu>${cpusets.length}</vcpu><cputune>${pins.join('')}</cputune>`
}

function memory(nodeset: string, mode = 'strict'): string {
  return `<numatune><memory mode='${mode}' nodeset='${nodeset}'/></numatune>`
}

test('its XML names the devices it is lent', () => {
  const [lent] = hostdevElements({ devices: ['0000:3b:00.1'] })
  expect(renderXml(lent!)).toBe(
    '<hostdev mode="subsystem" type="pci" managed="yes"><source>' +
      '<address domain="0x0000" bus="0x3b" slot="0x00" function="0x1"></address></source></hostdev>',
  )
})

describe('devices that are lent', () => {
  const device = (bus: number, vendor: string, kind = '0x030000') => `<device>
    <capability type='pci'><class>${kind}</class><domain>0</domain><bus>${bus}</bus><slot>0</slot>
    <function>1</function><product id='0x1DB4'>V100</product><vendor id='${vendor}'/></capability></device>`
  const described = [device(59, '0x10de'), device(60, '0x10de'), device(4, '0x8086')]

  test('are found by vendor and product or by address, never bridges', () => {
    const lent = passthroughDevices(['gpu=10DE:1db4', 'my-nic=0000:04:00.1', 'none=1234:5678'])
    const devices = pciDevices([...described, device(1, '0x10de', '0x060400')], lent)
    expect(devices).toEqual([
      { address: '0000:3b:00.1', resourceClass: 'CUSTOM_PCI_GPU' },
      { address: '0000:3c:00.1', resourceClass: 'CUSTOM_PCI_GPU' },
      { address: '0000:04:00.1', resourceClass: 'CUSTOM_PCI_MY_NIC' },
    ])
    expect(devicesByClass(devices, lent)).toEqual({
      CUSTOM_PCI_GPU: 2,
      CUSTOM_PCI_MY_NIC: 1,
      CUSTOM_PCI_NONE: 0,
    })
  })

  test.each(['gpu', 'gpu=10de', '=10de:1db4', 'gpu:1=10de:1db4', 'nic=04:00.1'])(
    '%s names none',
    (pair) => {
      expect(() => passthroughDevices([pair])).toThrow(/pci_devices/)
    },
  )
})

test('its XML pins its CPUs, binds its memory, and shows it sockets and nodes', () => {
  const placement = placed({ 'hw:cpu_policy': 'dedicated', 'hw:numa_nodes': '1' })
  const { topology } = asked({ 'hw:cpu_cores': '2' })
  const xml = renderXml(
    element(
      'x',
      {},
      ...placementElements({ ...placement, pageKib: 2048 }),
      ...seenElements(topology, placement),
    ),
  )

  expect(topology).toEqual({ sockets: 1, cores: 2, threads: 1 })
  expect(xml).toContain('<vcpupin vcpu="1" cpuset="2"></vcpupin><emulatorpin cpuset="1,2">')
  expect(xml).toContain('<page size="2048" unit="KiB">')
  expect(xml).toContain('<memnode cellid="0" mode="strict" nodeset="0">')
  expect(xml).toContain('<topology sockets="1" cores="2" threads="1">')
  expect(xml).toContain('<cell id="0" cpus="0,1" memory="132096" unit="KiB">')
})

describe('the CPU a guest is shown', () => {
  const shown = (...args: Parameters<typeof cpuElement>) => {
    const cpu = cpuElement(...args)
    return cpu === undefined ? undefined : renderXml(cpu)
  }

  test("is the host's model where guests use KVM, and otherwise the operator's choice", () => {
    expect(shown(undefined, 'qemu', [])).toBeUndefined()
    expect(shown(undefined, 'kvm', [])).toBe('<cpu mode="host-model"></cpu>')
    expect(shown('host-passthrough', 'kvm', [])).toBe('<cpu mode="host-passthrough"></cpu>')
    expect(shown('Nehalem', 'qemu', [element('numa')])).toContain(
      '<model fallback="forbid">Nehalem</model><numa>',
    )
  })

  test('is one that the host says it can show', () => {
    const capabilities = `<domainCapabilities><cpu><mode name='host-passthrough' supported='no'/>
      <mode name='host-model' supported='yes'/><mode name='custom' supported='yes'>
      <model usable='yes'>Nehalem</model><model usable='no'>EPYC</model></mode></cpu></domainCapabilities>`
    for (const model of ['host-model', 'Nehalem']) refuseUnknownModel(model, capabilities)
    for (const model of ['host-passthrough', 'EPYC', 'custom', 'x'])
      expect(() => refuseUnknownModel(model, capabilities)).toThrow(/cpu_model/)
  })
})

test('CPUs set apart are numbers and ranges', () => {
  expect(cpuList('2-4, 7')).toEqual([2, 3, 4, 7])
  for (const text of ['', '4-2', 'a', '1,,2']) expect(() => cpuList(text)).toThrow('dedicated_cpus')
})
