import { join } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import { logFile } from '../processes/program.ts'

/** Where a process, named as in `processStates`, writes its log. */
export function logPath(layout: Layout, name: string): string {
  if (name === 'mariadb') return join(layout.mariadb, 'mariadb.log')
  if (name.startsWith('libvirt-'))
    return join(layout.hosts, name.slice('libvirt-'.length), 'libvirt', 'log', 'libvirtd.log')
  if (name.startsWith('docker-'))
    return join(layout.hosts, name.slice('docker-'.length), 'docker', 'dockerd.log')
  return name === 'nats' ? join(layout.nats, 'nats.log') : logFile(layout, name)
}
