import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { homeDirectory } from '../paths.ts'

/** Where a deployment keeps what. Deleting `home` uninstalls it. */
export interface Layout {
  readonly home: string
  readonly stateFile: string
  readonly cloudsFile: string
  readonly mariadb: string
  readonly nats: string
  /** Credentials and keys, one file each, 0600. */
  readonly secrets: string
  readonly certificateFile: string
  readonly certificateKeyFile: string
  readonly logs: string
  /** What Node made of the sources, so that it need not do so at every start. */
  readonly compileCache: string
  readonly images: string
  /** State of computes and their hypervisors, a folder per host. */
  readonly hosts: string
  /** Of the databases of each cell's OVN, a folder per cell. */
  readonly ovn: string
  /** The configuration of Prometheus, and in `targets` a file of each program that it reads. */
  readonly monitoring: string
  readonly targets: string
}

export function layoutIn(home: string = homeDirectory): Layout {
  return {
    home,
    stateFile: join(home, 'state.json'),
    cloudsFile: join(home, 'clouds.yaml'),
    mariadb: join(home, 'mariadb'),
    nats: join(home, 'nats'),
    secrets: join(home, 'secrets'),
    certificateFile: join(home, 'secrets', 'gateway-tls.crt'),
    certificateKeyFile: join(home, 'secrets', 'gateway-tls.key'),
    logs: join(home, 'logs'),
    compileCache: join(home, 'compile-cache'),
    images: join(home, 'images'),
    hosts: join(home, 'hosts'),
    ovn: join(home, 'ovn'),
    monitoring: join(home, 'monitoring'),
    targets: join(home, 'monitoring', 'targets'),
  }
}

/** Afterwards the folders exist, open to their owner only. */
export function makeFolders(layout: Layout): void {
  for (const folder of [
    layout.home,
    layout.secrets,
    layout.logs,
    layout.compileCache,
    layout.images,
    layout.hosts,
    layout.ovn,
  ])
    mkdirSync(folder, { recursive: true, mode: 0o700 })
}
