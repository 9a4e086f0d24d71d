import type { Filter } from '../filter.ts'
import type { HostState } from '../host-state.ts'

/** Other names by which images call an architecture. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  amd64: 'x86_64',
  x64: 'x86_64',
  arm64: 'aarch64',
  i386: 'i686',
  x86: 'i686',
}

/** What runs guests of another type too: KVM hosts run what was made for plain QEMU. */
const ALSO_RUNS: Readonly<Record<string, readonly string[]>> = { kvm: ['qemu'] }

export const imagePropertiesFilter: Filter = {
  name: 'ImagePropertiesFilter',
  runsOnRebuild: true,
  refuse: (host, { image: { diskFormat, properties } }) => {
    const wanted = properties['img_hv_type'] ?? properties['hypervisor_type']
    // A server on a simulated host would look as if it ran: only images that say they want that may go there.
    if (host.simulated && wanted !== 'fake') return 'is simulated, and the image is real'
    if (wanted !== undefined && !runs(host, wanted)) return `runs ${host.hypervisorType} guests`
    const architecture = properties['hw_architecture'] ?? properties['architecture']
    if (architecture !== undefined && canonical(architecture) !== canonical(host.architecture))
      return `is of architecture ${host.architecture}`
    if (!host.imageFormats.includes(diskFormat)) return `cannot boot ${diskFormat} images`
    return undefined
  },
}

function runs(host: HostState, wanted: string): boolean {
  const type = host.simulated ? 'fake' : host.hypervisorType.toLowerCase()
  const asked = wanted.toLowerCase()
  return type === asked || (ALSO_RUNS[type]?.includes(asked) ?? false)
}

function canonical(architecture: string): string {
  const name = architecture.toLowerCase()
  return Object.hasOwn(ARCHITECTURES, name) ? ARCHITECTURES[name]! : name
}
