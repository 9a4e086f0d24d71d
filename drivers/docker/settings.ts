import { EnvReader } from '#common/env.ts'
import { type DockerSettings, NETWORKS } from './driver.ts'

const DEFAULT_ENDPOINT = 'unix:///var/run/docker.sock'

/** Settings from plain text; throws one error that names every problem. */
export function dockerSettings(settings: Readonly<Record<string, string>>): DockerSettings {
  const reader = new EnvReader(settings, '')
  const read: DockerSettings = {
    endpoint: reader.text('endpoint', DEFAULT_ENDPOINT),
    tlsCa: reader.optionalText('tls_ca'),
    tlsCert: reader.optionalText('tls_cert'),
    tlsKey: reader.optionalText('tls_key'),
    localImages: (reader.optionalText('local_images') ?? '').split(',').filter((ref) => ref !== ''),
    network: reader.choice('network', NETWORKS, 'host'),
    ovsDatabase: reader.optionalText('ovs_database'),
    pluginDirectory: reader.optionalText('plugin_directory'),
    networkNamespace: reader.optionalText('network_namespace'),
    hostname: reader.optionalText('hostname'),
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
