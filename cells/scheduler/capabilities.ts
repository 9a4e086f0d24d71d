import type { HostState } from './host-state.ts'

/**
 * What filters compare of a host, by Nova's names, with a colon between the parts of a name: memory in MiB, disk in GiB or
 * MiB as the name says, lists as text with commas between their words. Undefined for a name that no host has.
 */
export function capabilityOf(host: HostState, name: string): string | number | undefined {
  const { limits, used, cpu } = host
  const found: Readonly<Record<string, string | number>> = {
    host: host.name,
    hypervisor_type: host.hypervisorType,
    hypervisor_version: host.hypervisorVersion,
    hypervisor_hostname: host.hypervisorHostname,
    vcpus_total: limits.vcpus,
    vcpus_used: used.vcpus,
    free_ram_mb: limits.memoryMb - used.memoryMb,
    total_usable_ram_mb: limits.memoryMb,
    free_disk_mb: (limits.diskGb - used.diskGb) * MIB_PER_GIB,
    total_usable_disk_gb: limits.diskGb,
    num_instances: host.instances,
    'cpu_info:arch': host.architecture,
    'cpu_info:vendor': cpu.vendor,
    'cpu_info:model': cpu.model,
    'cpu_info:features': cpu.features.join(','),
    'cpu_info:topology:sockets': cpu.topology.sockets,
    'cpu_info:topology:cores': cpu.topology.cores,
    'cpu_info:topology:threads': cpu.topology.threads,
  }
  return Object.hasOwn(found, name) ? found[name] : undefined
}

const MIB_PER_GIB = 1024
