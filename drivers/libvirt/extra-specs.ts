import { DISK_LIMIT_SPECS } from './domains/disk-limits.ts'

/** The extra specs about hardware that `guestOptions` and `requestedPlacement` read. */
export const EXTRA_SPECS: readonly string[] = [
  'hw:boot_menu',
  'hw:cpu_cores',
  'hw:cpu_max_cores',
  'hw:cpu_max_sockets',
  'hw:cpu_max_threads',
  'hw:cpu_policy',
  'hw:cpu_sockets',
  'hw:cpu_threads',
  'hw:hide_hypervisor_id',
  'hw:mem_page_size',
  'hw:numa_nodes',
  'hw:pmu',
  'hw:watchdog_action',
  'hw_rng:allowed',
  'hw_rng:rate_bytes',
  'hw_rng:rate_period',
  'pci_passthrough:alias',
  ...DISK_LIMIT_SPECS,
]
