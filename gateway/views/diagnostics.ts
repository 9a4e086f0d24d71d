import type { GuestFigures } from '#openapi/wire/diagnostics.ts'

const STATES: Readonly<
  Record<number, 'pending' | 'running' | 'paused' | 'shutdown' | 'crashed' | 'suspended'>
> = {
  1: 'running',
  3: 'paused',
  4: 'shutdown',
  6: 'crashed',
  7: 'suspended',
}

/** The standard form of microversion 2.48. Rates are not counted. */
export function diagnosticsView(figures: GuestFigures) {
  const { cpus, disks, nics, memory } = figures
  return {
    config_drive: figures.hasConfigDrive,
    state: STATES[figures.powerState] ?? ('pending' as const),
    driver: figures.driver,
    hypervisor: figures.hypervisor,
    hypervisor_os: figures.hypervisorOs,
    uptime: figures.uptime,
    num_cpus: cpus.length,
    num_disks: disks.length,
    num_nics: nics.length,
    memory_details: { maximum: memory.maximumMb, used: memory.usedMb },
    cpu_details: cpus.map(({ id, timeNs, utilisation }) => ({ id, time: timeNs, utilisation })),
    nic_details: nics.map((nic) => ({
      mac_address: nic.macAddress,
      rx_octets: nic.rxOctets,
      rx_packets: nic.rxPackets,
      rx_errors: nic.rxErrors,
      rx_drop: nic.rxDrop,
      rx_rate: null,
      tx_octets: nic.txOctets,
      tx_packets: nic.txPackets,
      tx_errors: nic.txErrors,
      tx_drop: nic.txDrop,
      tx_rate: null,
    })),
    disk_details: disks.map((disk) => ({
      read_bytes: disk.readBytes,
      read_requests: disk.readRequests,
      write_bytes: disk.writeBytes,
      write_requests: disk.writeRequests,
      errors_count: disk.errors,
    })),
  }
}
