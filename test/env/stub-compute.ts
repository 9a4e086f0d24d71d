import { randomUUID } from 'node:crypto'
import { type StubCollection, StubRefusal } from './stub-collection.ts'

export interface StubServer {
  readonly id: string
  name: string
  metadata: Readonly<Record<string, string>>
  description?: string | null
  hostname?: string
  tags?: readonly string[]
  accessIPv4?: string
  status: string
  /** The task in progress. */
  task: string | null
  flavor: string
  updated: number
  /** Not shown before, in epoch milliseconds. */
  readonly shownAt: number
  /** Of one in ERROR. */
  fault?: string
}

/** The parts of the bodies that the handlers read. */
export interface Asked {
  readonly server?: {
    readonly name: string
    readonly metadata: Record<string, string>
    readonly description?: string | null
    readonly hostname?: string
    readonly tags?: readonly string[]
    readonly accessIPv4?: string
    readonly flavorRef: string
    readonly networks: 'none' | readonly { readonly port: string }[]
  }
  readonly metadata?: Readonly<Record<string, string>>
  readonly tags?: readonly string[]
  readonly resize?: { readonly flavorRef: string }
  readonly createImage?: { readonly name: string }
  readonly interfaceAttachment?: { readonly port_id: string; readonly tag?: string }
}

/** The statuses that an action needs, none: any; and the one it leads to, null: the same. */
const ACTIONS: Readonly<Record<string, readonly [from: readonly string[], to: string | null]>> = {
  'os-stop': [['ACTIVE'], 'SHUTOFF'],
  'os-start': [['SHUTOFF'], 'ACTIVE'],
  pause: [['ACTIVE'], 'PAUSED'],
  unpause: [['PAUSED'], 'ACTIVE'],
  suspend: [['ACTIVE'], 'SUSPENDED'],
  resume: [['SUSPENDED'], 'ACTIVE'],
  reboot: [['ACTIVE', 'SHUTOFF', 'PAUSED'], 'ACTIVE'],
  rescue: [['ACTIVE', 'SHUTOFF'], 'RESCUE'],
  unrescue: [['RESCUE'], 'ACTIVE'],
  rebuild: [['ACTIVE', 'SHUTOFF'], 'ACTIVE'],
  resize: [['ACTIVE', 'SHUTOFF'], 'VERIFY_RESIZE'],
  confirmResize: [['VERIFY_RESIZE'], 'ACTIVE'],
  revertResize: [['VERIFY_RESIZE'], 'ACTIVE'],
  createImage: [['ACTIVE', 'SHUTOFF'], null],
  changePassword: [['ACTIVE'], null],
}
const POWER: Readonly<Record<string, number>> = {
  ACTIVE: 1,
  RESCUE: 1,
  VERIFY_RESIZE: 1,
  PAUSED: 3,
  SHUTOFF: 4,
  SUSPENDED: 4,
}

/** The servers of a stub cloud, as far as Nova lets see them. */
export class StubCompute {
  readonly servers = new Map<string, StubServer>()
  /** The duration of an act, a build or a delete. */
  actsMs = 0
  /** The fault with which builds end; absent: they succeed. */
  buildFault: string | undefined
  /** For so long a new server is not shown, though its create was answered. */
  blindMs = 0
  readonly #ports: StubCollection
  readonly #images: StubCollection

  constructor(ports: StubCollection, images: StubCollection) {
    this.#ports = ports
    this.#images = images
  }

  list(query: URLSearchParams): object {
    const since = query.get('changes-since')
    const servers = [...this.servers.values()].filter(({ status, updated, shownAt }) => {
      if (shownAt > Date.now()) return false
      return since === null ? status !== 'DELETED' : updated >= Date.parse(since)
    })
    return { servers: servers.map(shown) }
  }

  create({ server }: Asked): object {
    const id = randomUUID()
    const { name = '', metadata = {}, flavorRef = '1', networks = 'none' } = server ?? {}
    const { description = name, hostname = name, tags = [] } = server ?? {}
    const now = Date.now()
    const shownAt = now + this.blindMs
    const made: StubServer = {
      ...{ id, name, metadata, status: 'ACTIVE', flavor: flavorRef },
      ...{ updated: now, shownAt, task: null, description, hostname, tags },
    }
    this.servers.set(id, made)
    for (const { port } of networks === 'none' ? [] : networks)
      this.#ports.change(port, { device_id: id })
    const built =
      this.buildFault === undefined
        ? { status: 'ACTIVE' }
        : { status: 'ERROR', fault: this.buildFault }
    this.#do(made, { status: 'BUILD', task: 'spawning' }, built)
    return { server: { id } }
  }

  show(id = ''): object | undefined {
    const server = this.#find(id)
    return server && { server: shown(server) }
  }

  /** The properties of a server that its users set. */
  change(id: string, { server: fields, metadata, tags }: Asked): object | undefined {
    const server = this.#find(id)
    if (server === undefined) return undefined
    const now = Date.now()
    Object.assign(server, fields, metadata && { metadata }, tags && { tags }, { updated: now })
    return {}
  }

  act(id: string, body: Asked): object | undefined {
    const server = this.#find(id)
    if (server === undefined) return undefined
    const [name = ''] = Object.keys(body)
    const [from, to] = ACTIONS[name] ?? [[], null]
    if (server.task !== null || (from.length > 0 && !from.includes(server.status)))
      return new StubRefusal(409, `Cannot '${name}' while it is ${server.status}.`)
    if (body.createImage !== undefined) return this.#save(server, body.createImage.name)
    const flavor = body.resize?.flavorRef ?? server.flavor
    this.#do(server, { task: name }, { status: to ?? server.status, flavor })
    return {}
  }

  remove(id: string): object | undefined {
    const server = this.#find(id)
    if (server === undefined) return undefined
    this.#do(server, { task: 'deleting' }, { status: 'DELETED' }, () => {
      for (const port of this.attached(id)) this.#ports.change(port.id, { device_id: '' })
    })
    return {}
  }

  attached(id: string) {
    return this.#ports.list(new URLSearchParams({ device_id: id }))
  }

  attach(id: string, { interfaceAttachment: asked }: Asked): object | undefined {
    const port = this.#ports.items.get(asked?.port_id ?? '')
    if (this.#find(id) === undefined || port === undefined) return undefined
    if ((port['device_id'] ?? '') !== '') return new StubRefusal(409, 'Port is still in use.')
    Object.assign(port, { device_id: id, tag: asked?.tag })
    return { interfaceAttachment: { port_id: port.id } }
  }

  detach(id: string, portId: string): object | undefined {
    if (!this.attached(id).some((port) => port.id === portId)) return undefined
    setTimeout(() => this.#ports.change(portId, { device_id: '' }), this.actsMs)
    return {}
  }

  #find(id: string): StubServer | undefined {
    const server = this.servers.get(id)
    const isShown = server !== undefined && server.shownAt <= Date.now()
    return isShown && server.status !== 'DELETED' ? server : undefined
  }

  #save(server: StubServer, name: string): object {
    const made = this.#images.make({ name, status: 'saving' })
    const id = made instanceof StubRefusal ? '' : made.id
    this.#do(server, { task: 'image_uploading' }, {}, () =>
      this.#images.change(id, { status: 'active', disk_format: 'raw', size: 4, content: 'disk' }),
    )
    return { image_id: id }
  }

  #do(
    server: StubServer,
    meanwhile: Partial<StubServer>,
    after: Partial<StubServer>,
    then: () => void = () => {},
  ): void {
    const end = () => {
      Object.assign(server, { task: null, ...after, updated: Date.now() })
      then()
    }
    if (this.actsMs === 0) return end()
    Object.assign(server, meanwhile, { updated: Date.now() })
    setTimeout(end, this.actsMs)
  }
}

function shown(server: StubServer): object {
  const { id, name, metadata, status, task, flavor, fault } = server
  return {
    description: server.description,
    tags: server.tags,
    accessIPv4: server.accessIPv4 ?? '',
    'OS-EXT-SRV-ATTR:hostname': server.hostname,
    id,
    name,
    // Nova keeps no metadata of a server that is gone.
    metadata: status === 'DELETED' ? {} : metadata,
    status,
    created: '2026-01-01T00:00:00Z',
    flavor: { id: flavor, vcpus: 1, ram: 128, disk: 1 },
    'OS-EXT-STS:power_state': POWER[status] ?? 0,
    'OS-EXT-STS:task_state': task,
    ...(fault !== undefined && { fault: { code: 500, message: fault } }),
  }
}
