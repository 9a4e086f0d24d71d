/** Of these extra specs, the values that ask for nothing that a guest does not have anyway. */
const UNDEMANDING: Readonly<Record<string, readonly string[]>> = {
  'hw:cpu_policy': ['shared'],
  'hw:cpu_thread_policy': ['prefer'],
  'hw:mem_page_size': ['any', 'small'],
  // `legacy` asks for devices on the nodes of the guest, if it is known where they are (nova/pci/stats.py).
  'hw:pci_numa_affinity_policy': ['preferred'],
  'hw:redirected_usb_ports': ['0'],
  'hw:usb_model': ['none'],
  'hw:watchdog_action': ['disabled'],
  'hw_video:ram_max_mb': ['0'],
  'os:secure_boot': ['disabled', 'optional'],
  'quota:cpu_period': ['0'],
  'quota:cpu_quota': ['0', '-1'],
}
/** No limit, and nothing reserved. */
const ZERO =
  /^quota:(?:disk_(?:read|write|total)_(?:bytes|iops)_sec|(?:cpu|memory|disk_io|vif)_(?:limit|reservation))$/
/** What no guest has unless it is asked for. `hw:pmu` is none of these: guests have performance counters, or not, by themselves. */
const FLAGS: readonly string[] = [
  'hide_hypervisor_id',
  'hw:boot_menu',
  'hw:cpu_realtime',
  'hw:ephemeral_encryption',
  'hw:hide_hypervisor_id',
  'hw:locked_memory',
  'hw:mem_encryption',
  'hw:vif_multiqueue_enabled',
  'hw:virtio_packed_ring',
]
/** Only libvirt's guests have a device that gives random numbers without being asked, and libvirt hosts heed the extra spec. */
const RANDOM = 'hw_rng:allowed'

const NO = ['0', 'f', 'false', 'off', 'n', 'no']

/** True for an extra spec about hardware that guests of every host satisfy, whether their host knows it or not. */
export function asksForNothing(key: string, value: string): boolean {
  if (UNDEMANDING[key]?.includes(value)) return true
  if (ZERO.test(key)) return value === '0'
  return (FLAGS.includes(key) || key === RANDOM) && NO.includes(value.toLowerCase())
}
