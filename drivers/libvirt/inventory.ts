import { statfs } from 'node:fs/promises'
import type { NumaNode } from '#common/numa.ts'
import { SMALL_PAGE_KIB } from '#common/page-size.ts'
import type { HostInventory } from '../driver.ts'
import { IMAGE_FORMATS } from '../image-header.ts'
import type { VirtType } from './domains/domain-xml.ts'
import { EXTRA_SPECS } from './extra-specs.ts'
import type { LibvirtHost } from './host.ts'
import { IMAGE_PROPERTIES } from './image-properties.ts'
import { nodeCalls } from './node-calls.ts'
import { dedicatedCpus, hardwareInventory } from './placement/host-hardware.ts'
import { type HostNode, hostNodes } from './placement/host-nodes.ts'
import { attributeAt, elementsAt, parseXml, textAt, type XmlTree } from './xml/parse.ts'

/** The part of the machine that the host may use; an absent amount is the whole. */
export interface HostShare {
  /** Without those that are set apart. */
  readonly vcpus?: number | undefined
  readonly memoryMb?: number | undefined
  readonly diskGb?: number | undefined
}

/** CPU flags with a standard trait (os-traits, hw/cpu/x86), by libvirt's names. */
const CPU_TRAITS: Readonly<Record<string, string>> = {
  aes: 'HW_CPU_X86_AESNI',
  avx: 'HW_CPU_X86_AVX',
  avx2: 'HW_CPU_X86_AVX2',
  avx512f: 'HW_CPU_X86_AVX512F',
  bmi1: 'HW_CPU_X86_BMI',
  bmi2: 'HW_CPU_X86_BMI2',
  fma: 'HW_CPU_X86_FMA3',
  'sha-ni': 'HW_CPU_X86_SHA',
  'sse4.1': 'HW_CPU_X86_SSE41',
  'sse4.2': 'HW_CPU_X86_SSE42',
  svm: 'HW_CPU_X86_SVM',
  vmx: 'HW_CPU_X86_VMX',
}

/** The total resources of the host: its configured share, or the machine. */
export async function inventory(
  host: LibvirtHost,
  share: HostShare,
  signal: AbortSignal,
): Promise<HostInventory> {
  const node = nodeCalls(host.session)
  const [info, memoryKib, capabilities, hostname, version] = await Promise.all([
    node.info(signal),
    node.memoryKib(signal),
    node.capabilities(signal),
    node.hostname(signal),
    node.hypervisorVersion(signal),
  ])
  const virtType = await host.virtType(signal)
  const nodes = hostNodes(capabilities)
  const dedicated = dedicatedCpus(host, nodes).length
  const [cpu] = elementsAt(parseXml(capabilities), 'capabilities', 'host', 'cpu')
  const features = cpu === undefined ? [] : featuresOf(cpu)
  const { sockets, cores, threads } = info
  return {
    vcpus: share.vcpus ?? info.cpus - dedicated,
    memoryMb: share.memoryMb ?? Math.floor(memoryKib / 1024),
    diskGb: share.diskGb ?? (await diskGbOf(host.stateDirectory)),
    resources: await hardwareInventory(host, nodes, signal),
    numa: nodes.map((each) => numaNode(each, host)),
    hypervisor: { type: virtType.toUpperCase(), version, hostname },
    architecture: cpu === undefined ? 'x86_64' : textAt(cpu, 'arch'),
    cpu: {
      vendor: cpu === undefined ? '' : textAt(cpu, 'vendor'),
      model: cpu === undefined ? '' : textAt(cpu, 'model'),
      features,
      topology: { sockets, cores, threads },
    },
    imageFormats: IMAGE_FORMATS,
    extraSpecs: EXTRA_SPECS,
    imageProperties: IMAGE_PROPERTIES,
    traits: traitsOf(virtType, features),
  }
}

function numaNode(
  { id, cpus, memoryMb, pages }: HostNode,
  { cpus: { dedicated } }: LibvirtHost,
): NumaNode {
  const dedicatedCpus = cpus.filter((cpu) => dedicated.includes(cpu)).length
  const large = [...pages].filter(([kib]) => kib > SMALL_PAGE_KIB)
  return { id, cpus: cpus.length, dedicatedCpus, memoryMb, pages: Object.fromEntries(large) }
}

function featuresOf(cpu: XmlTree): readonly string[] {
  return elementsAt(cpu, 'feature')
    .map((feature) => attributeAt(feature, 'name'))
    .toSorted((a, b) => a.localeCompare(b))
}

/** An emulated guest sees QEMU's own CPU, so the machine's flags say nothing about it. */
function traitsOf(virtType: VirtType, features: readonly string[]): readonly string[] {
  const cpu = virtType === 'kvm' ? features.flatMap((name) => CPU_TRAITS[name] ?? []) : []
  const images = IMAGE_FORMATS.map((format) => `COMPUTE_IMAGE_TYPE_${format.toUpperCase()}`)
  return ['COMPUTE_NODE', 'COMPUTE_RESCUE_BFV', ...images, ...cpu]
}

async function diskGbOf(folder: string): Promise<number> {
  const { blocks, bsize } = await statfs(folder)
  return Math.floor((blocks * bsize) / 1024 ** 3)
}
