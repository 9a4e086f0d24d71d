import { describe, expect, test } from 'vitest'
import { ImageShelf } from '../../testing/image-shelf.ts'
import { instanceSpec } from '../../testing/instance-spec.ts'
import { domainSubject } from '../instance-record.ts'
import { element, renderXml } from '../xml/element.ts'
import { askedPlacement } from './asked-placement.ts'
import { cpuElement, cpuList, refuseUnknownModel } from './cpu-settings.ts'
import { hostNodes } from './host-nodes.ts'
import { type HostPlaces, placeGuest } from './place-guest.ts'
import { placementElements, seenElements } from './placement-elements.ts'

const image = new ImageShelf().add(Buffer.alloc(1))
const node = (id: number, cpus: readonly number[], large: number) =>
  `<cell id='${id}'><pages unit='KiB' size='4'>1000000</pages>
   <pages unit='KiB' size='2048'>${large}</pages>
   <cpus>${cpus.map((cpu) => `<cpu id='${cpu}'/>`).join('')}</cpus></cell>`
const nodes = hostNodes(`<capabilities><host><topology><cells>
  ${node(0, [0, 1, 2], 0)}${node(1, [3, 4, 5], 128)}</cells></topology></host></capabilities>`)

function asked(extraSpecs: Readonly<Record<string, string>>, vcpus = 2) {
  const { flavor } = instanceSpec(image)
  const spec = instanceSpec(image, { flavor: { ...flavor, vcpus, memoryMb: 129, extraSpecs } })
  return askedPlacement(domainSubject(spec))
}

const placed = (
  extraSpecs: Readonly<Record<string, string>>,
  host: Partial<HostPlaces> = {},
  vcpus = 2,
) =>
  placeGuest(
    asked(extraSpecs, vcpus),
    { vcpus, memoryMb: 129 },
    { nodes, dedicated: [1, 2, 4], taken: new Set(), ...host },
  )

describe('a guest', () => {
  test('that asks for nothing is anywhere', () => {
    expect(placed({})).toEqual({})
    expect(placed({ 'hw:cpu_policy': 'shared', 'hw:mem_page_size': 'small' })).toEqual({})
  })

  test('that asks for CPUs of its own gets dedicated ones that nobody has', () => {
    const dedicated = { 'hw:cpu_policy': 'dedicated' }
    expect(placed(dedicated)).toEqual({ pins: [1, 2] })
    expect(placed(dedicated, { taken: new Set([1]) })).toEqual({ pins: [2, 4] })
    const full = { taken: new Set([1, 2]) }
    expect(() => placed(dedicated, full)).toThrow('has 1 of 2 dedicated CPUs free')
    expect(() => placed(dedicated, { dedicated: [] })).toThrow(/sets no CPUs apart/)
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
    for (const size of ['large', 'any', '2048', '2MB'])
      expect(placed({ 'hw:mem_page_size': size })).toEqual(onSecond)
    expect(placed({ 'hw:mem_page_size': 'any' }, { nodes: nodes.slice(0, 1) })).toEqual({})
    for (const size of ['large', '1GB'])
      expect(() => placed({ 'hw:mem_page_size': size }, { nodes: nodes.slice(0, 1) })).toThrow(
        /pages of the size asked for/,
      )
  })

  test.each([
    { 'hw:cpu_policy': 'mine' },
    { 'hw:numa_nodes': '0' },
    { 'hw:mem_page_size': 'huge' },
    { 'hw:cpu_sockets': '2', 'hw:cpu_cores': '2' },
    { 'pci_passthrough:alias': 'gpu:1' },
  ])('that asks for %j is refused', (extraSpecs) => {
    expect(() => asked(extraSpecs)).toThrow(expect.objectContaining({ kind: 'invalid' }))
  })
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

  test('is the model the host has where guests run on it, and else what the operator says', () => {
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
