import { chmod, mkdir, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { dirname, join } from 'node:path'
import { json } from 'node:stream/consumers'
import { Failure } from '#common/errors.ts'
import { errorFields, type Logger } from '#common/log.ts'
import type { NicSpec, Owner } from '../../driver.ts'
import { HostLinks } from '../../ovn/host-links.ts'
import type { IntegrationBridge } from '../../ovn/integration-bridge.ts'
import { METADATA_ADDRESS } from '../../ovn/northbound/metadata-addresses.ts'

/** What an endpoint's options carry of its NIC. */
const NIC_OPTION = 'weir.nic'
const STEP_MS = 10_000
/** Of an interface in Linux. */
const NAME_MAX = 15
/** The kinds of routes of libnetwork's remote drivers. */
const BY_NEXT_HOP = 0
const CONNECTED = 1
const CONTENT_TYPE = 'application/vnd.docker.plugins.v1.2+json'

export interface OvnEndpointsOptions {
  readonly owner: Owner
  readonly bridge: IntegrationBridge
  /** Where the engine looks for the sockets of its plugins. */
  readonly pluginDirectory: string
  /** The engine's, as a file below /proc or /run/netns; absent: that of this process. */
  readonly networkNamespace: string | undefined
  readonly logger: Logger | undefined
}

/** Of several NICs the first has the default route. */
interface EndpointNic extends NicSpec {
  readonly isFirst: boolean
}

/** Of the requests of the engine, what is read here. */
interface EndpointRequest {
  readonly EndpointID: string
  readonly Options?: Readonly<Record<string, unknown>>
  readonly Interface?: { readonly MacAddress?: string } | null
}

type Reply = (request: EndpointRequest, signal: AbortSignal) => Promise<object> | object

/**
 * Gives the containers of an engine their NICs in OVN, as a network plugin of the engine (docs.docker.com, "Docker network
 * driver plugins"): the engine asks whenever a container starts, before anything in the container runs.
 */
export class OvnEndpoints implements AsyncDisposable {
  /** What the networks of this host name as their driver. */
  readonly name: string
  readonly #options: OvnEndpointsOptions
  readonly #links: HostLinks
  readonly #server: Server
  /** Between an endpoint's creation and its first use, a moment later. */
  readonly #nics = new Map<string, EndpointNic>()

  private constructor(options: OvnEndpointsOptions) {
    this.#options = options
    this.#links = new HostLinks(options.networkNamespace)
    this.name = pluginName(options.owner)
    this.#server = createServer((request, response) => {
      const answer = json(request)
        .catch(() => ({}))
        .then((body) => this.#answer(request.url ?? '', body as EndpointRequest))
      void answer.then((value) => {
        response.setHeader('content-type', CONTENT_TYPE).end(JSON.stringify(value))
      })
    })
  }

  /** Afterwards the engine finds the plugin. Throws `invalid` for a folder that no socket can be made in. */
  static async listen(options: OvnEndpointsOptions): Promise<OvnEndpoints> {
    const endpoints = new OvnEndpoints(options)
    const path = join(options.pluginDirectory, `${endpoints.name}.sock`)
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o755 })
      await rm(path, { force: true })
      await new Promise<void>((resolve, reject) => {
        endpoints.#server.once('error', reject).listen(path, resolve)
      })
      await chmod(path, 0o600)
    } catch (cause) {
      const why = `plugin_directory: no socket can be made in ${options.pluginDirectory}. Name the directory where the engine looks for plugins.`
      throw new Failure('invalid', why, { cause })
    }
    return endpoints
  }

  /** The NIC as the engine's API takes it, for one of its networks. */
  static endpoint(nic: NicSpec, isFirst: boolean): object {
    const option: EndpointNic = { ...nic, isFirst }
    return { MacAddress: nic.macAddress, DriverOpts: { [NIC_OPTION]: JSON.stringify(option) } }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
    })
    await this.#options.bridge[Symbol.asyncDispose]()
  }

  async #answer(path: string, request: EndpointRequest): Promise<object> {
    const reply = this.#replies[path]
    if (reply === undefined) return {}
    try {
      return await reply(request, AbortSignal.timeout(STEP_MS))
    } catch (error) {
      this.#options.logger?.warn({ ...errorFields(error), path }, 'an endpoint could not be served')
      return { Err: error instanceof Error ? error.message : String(error) }
    }
  }

  readonly #replies: Readonly<Record<string, Reply>> = {
    '/Plugin.Activate': () => ({ Implements: ['NetworkDriver'] }),
    '/NetworkDriver.GetCapabilities': () => ({ Scope: 'local' }),
    '/NetworkDriver.EndpointOperInfo': () => ({ Value: {} }),
    '/NetworkDriver.CreateEndpoint': ({ EndpointID, Options, Interface }) => {
      const nic = JSON.parse(String(Options?.[NIC_OPTION])) as EndpointNic
      this.#nics.set(EndpointID, nic)
      return { Interface: missingOf(nic, Interface?.MacAddress) }
    },
    '/NetworkDriver.Join': async ({ EndpointID }, signal) => {
      const nic = this.#nics.get(EndpointID)
      if (nic === undefined) throw new Failure('not-found', `Endpoint ${EndpointID} is unknown.`)
      return this.#join(EndpointID, nic, signal)
    },
    '/NetworkDriver.Leave': async ({ EndpointID }, signal) => {
      await this.#leave(EndpointID, signal)
      return {}
    },
    // An engine that was killed tells only this of the containers that it finds ended.
    '/NetworkDriver.DeleteEndpoint': async ({ EndpointID }, signal) => {
      await this.#leave(EndpointID, signal)
      this.#nics.delete(EndpointID)
      return {}
    },
  }

  /** Afterwards one end of a pair is the port in OVN; the engine moves the other into the container. */
  async #join(endpointId: string, nic: EndpointNic, signal: AbortSignal): Promise<object> {
    const [name, inside] = namesOf(endpointId)
    const mtu = ['mtu', String(nic.mtu)]
    await this.#links.remove(name, signal)
    const peer = ['peer', 'name', inside, ...mtu, 'address', nic.macAddress]
    await this.#links.run(signal, 'ip', 'link', 'add', name, ...mtu, 'type', 'veth', ...peer)
    try {
      if (await this.#options.bridge.isInUserspace())
        await this.#links.run(signal, 'ethtool', '-K', inside, 'tx', 'off')
      await this.#links.run(signal, 'ip', 'link', 'set', name, 'up')
      await this.#options.bridge.plug({ name, portId: nic.portId }, signal)
    } catch (error) {
      await this.#links.remove(name, signal)
      throw error
    }
    const routes = nic.fixedIps.flatMap(({ hostRoutes = [] }) => hostRoutes)
    // A container asks no DHCP server, from which other guests have this route.
    const metadata = { Destination: `${METADATA_ADDRESS}/32`, RouteType: CONNECTED }
    return {
      InterfaceName: { SrcName: inside, DstPrefix: 'eth' },
      Gateway: gatewayOf(nic, false),
      GatewayIPv6: gatewayOf(nic, true),
      StaticRoutes: [
        ...(nic.isFirst ? [metadata] : []),
        ...routes.map(({ destination, nexthop }) => {
          return { Destination: destination, RouteType: BY_NEXT_HOP, NextHop: nexthop }
        }),
      ],
      // Without it the engine adds a bridge of its own where a network has no gateway.
      DisableGatewayService: true,
    }
  }

  async #leave(endpointId: string, signal: AbortSignal): Promise<void> {
    const [name] = namesOf(endpointId)
    await this.#links.remove(name, signal)
    await this.#options.bridge.unplug(name, signal)
  }
}

/** Of one host: others of the same engine have plugins of their own. */
function pluginName({ hostId }: Owner): string {
  return `weir-${hostId.slice(-12)}`
}

/** Both ends of an endpoint's pair, the same whenever they are asked for. */
function namesOf(endpointId: string): readonly [string, string] {
  const id = endpointId.slice(0, NAME_MAX - 2)
  return [`w-${id}`.slice(0, NAME_MAX), `i-${id}`.slice(0, NAME_MAX)]
}

/** What the engine did not say itself: it refuses to be told that again. */
function missingOf(nic: NicSpec, macAddress: string | undefined): object {
  return {
    ...(!macAddress && { MacAddress: nic.macAddress }),
    ...(addressOf(nic, false) && { Address: addressOf(nic, false) }),
    ...(addressOf(nic, true) && { AddressIPv6: addressOf(nic, true) }),
  }
}

function addressOf(nic: NicSpec, isV6: boolean): string | undefined {
  const ip = nic.fixedIps.find(({ address }) => address.includes(':') === isV6)
  return ip && `${ip.address}/${ip.cidr.slice(ip.cidr.indexOf('/') + 1)}`
}

function gatewayOf(nic: EndpointNic, isV6: boolean): string {
  if (!nic.isFirst) return ''
  return nic.fixedIps.find(({ address }) => address.includes(':') === isV6)?.gateway ?? ''
}
