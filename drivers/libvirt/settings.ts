import { EnvReader } from '#common/env.ts'
import { type LibvirtSettings, NETWORKS, VIRT_TYPES } from './driver.ts'
import { OVS_DATAPATHS } from './networks/guest-networks.ts'
import { cpuList } from './placement/cpu-settings.ts'
import { passthroughDevices } from './placement/pci-devices.ts'

/** Settings from plain text; throws one error that names every problem. */
export function libvirtSettings(settings: Readonly<Record<string, string>>): LibvirtSettings {
  const reader = new EnvReader(settings, '')
  const read: LibvirtSettings = {
    uri: reader.text('uri', 'qemu:///system'),
    virtType: reader.choice('virt_type', VIRT_TYPES, 'auto'),
    network: reader.choice('network', NETWORKS, 'host'),
    ovsDatapath: reader.choice('ovs_datapath', OVS_DATAPATHS, 'system'),
    ovsDatabase: reader.optionalText('ovs_database'),
    networkNamespace: reader.optionalText('network_namespace'),
    liveUri: reader.optionalText('live_uri'),
    sharedFolder: reader.optionalText('shared_folder'),
    volumePools: reader.list('volume_pools'),
    cephPrograms: reader.optionalText('ceph_programs'),
    probeKernel: reader.optionalText('probe_kernel'),
    cpuModel: reader.optionalText('cpu_model'),
    dedicatedCpus: cpuListIfSet(reader.optionalText('dedicated_cpus')),
    pciDevices: passthroughDevices(reader.list('pci_devices')),
    vcpus: optionalCount(reader, 'vcpus'),
    memoryMb: optionalCount(reader, 'memory_mb'),
    diskGb: optionalCount(reader, 'disk_gb'),
  }
  reader.finish()
  return read
}

function optionalCount(reader: EnvReader, name: string): number | undefined {
  return reader.optionalText(name) === undefined ? undefined : reader.integer(name, 1, 1)
}

function cpuListIfSet(text: string | undefined): readonly number[] | undefined {
  return text === undefined ? undefined : cpuList(text)
}
