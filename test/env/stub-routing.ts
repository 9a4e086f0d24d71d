import { StubCollection, type StubItem, StubRefusal } from './stub-collection.ts'

type Body = Readonly<Record<string, unknown>>
type Handler = (match: readonly string[], body: object, query: URLSearchParams) => unknown

const V2 = '/network/v2.0'

/** Routers and floating IPs of a small OpenStack, over its ports. */
export class StubRouting {
  readonly routers = new StubCollection({ routes: [], external_gateway_info: null })
  readonly floatingIps = new StubCollection(
    { port_id: null, fixed_ip_address: null, description: '' },
    ['floating_ip_address'],
  )
  readonly #ports: StubCollection

  constructor(ports: StubCollection) {
    this.#ports = ports
  }

  get handlers(): readonly (readonly [RegExp, Handler])[] {
    const { routers, floatingIps } = this
    return [
      [new RegExp(`^GET ${V2}/extensions/router$`), () => ({ extension: { alias: 'router' } })],
      [
        new RegExp(`^PUT ${V2}/routers/([^/]+)/add_router_interface$`),
        ([, id = ''], body) => this.#attach(id, portOf(body)),
      ],
      [
        new RegExp(`^PUT ${V2}/routers/([^/]+)/remove_router_interface$`),
        ([, id = ''], body) => this.#detach(id, portOf(body)),
      ],
      [new RegExp(`^DELETE ${V2}/routers/([^/]+)$`), ([, id = '']) => this.#remove(id)],
      [
        new RegExp(`^DELETE ${V2}/floatingips/([^/]+)$`),
        ([, id = '']) => (floatingIps.items.delete(id) ? {} : undefined),
      ],
      ...collection('router', 'routers', routers),
      ...collection('floatingip', 'floatingips', floatingIps),
    ]
  }

  #interfaces(routerId: string): readonly StubItem[] {
    return this.#ports.list(new URLSearchParams({ device_id: routerId }))
  }

  #attach(routerId: string, portId: string): unknown {
    const port = this.#ports.items.get(portId)
    if (port === undefined || !this.routers.items.has(routerId)) return undefined
    if (port['device_id'] !== '') return new StubRefusal(409, 'The port is in use.')
    return this.#ports.change(portId, {
      ...{ device_id: routerId, device_owner: 'network:router_interface' },
    })
  }

  #detach(routerId: string, portId: string): unknown {
    if (!this.#interfaces(routerId).some(({ id }) => id === portId)) return undefined
    return this.#ports.items.delete(portId) ? {} : undefined
  }

  #remove(id: string): unknown {
    if (this.#interfaces(id).length > 0) return new StubRefusal(409, 'The router has interfaces.')
    return this.routers.items.delete(id) ? {} : undefined
  }
}

function portOf(body: object): string {
  return String((body as Body)['port_id'])
}

function collection(
  one: string,
  many: string,
  items: StubCollection,
): readonly (readonly [RegExp, Handler])[] {
  const wrapped = (item: unknown) =>
    item === undefined || item instanceof StubRefusal ? item : { [one]: item }
  return [
    [new RegExp(`^GET ${V2}/${many}$`), (_m, _b, query) => ({ [many]: items.list(query) })],
    [
      new RegExp(`^POST ${V2}/${many}$`),
      (_m, body) => wrapped(items.make((body as Body)[one] as object)),
    ],
    [
      new RegExp(`^PUT ${V2}/${many}/([^/]+)$`),
      ([, id = ''], body) => wrapped(items.change(id, (body as Body)[one] as object)),
    ],
  ]
}
