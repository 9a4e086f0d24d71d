import { callApi, type Session } from '../api/session.ts'

const NETWORK = '/networking/v2.0'
const ROUTER = 'edge'
/** What is let in to every server of the demo's user, besides what its servers tell each other. */
const LET_IN = [
  { protocol: 'tcp', port_range_min: 22, port_range_max: 22 },
  { protocol: 'icmp' },
] as const

interface Named {
  readonly id: string
  readonly name: string
}

interface Port {
  readonly id: string
}

/** Afterwards the user has a key pair of this name. */
export async function ensureKeypair(user: Session, name: string, publicKey: string): Promise<void> {
  const path = '/compute/v2.1/os-keypairs'
  const { keypairs } = await callApi<{ keypairs: readonly { keypair: Named }[] }>(user, {
    method: 'GET',
    path,
  })
  if (keypairs.some(({ keypair }) => keypair.name === name)) return
  const keypair = { name, public_key: publicKey }
  await callApi(user, { method: 'POST', path, body: { keypair } })
}

/** Afterwards a router leads from the network to the external one. Both are the administrator's. */
export async function ensureRouter(
  admin: Session,
  { network, external }: { readonly network: string; readonly external: string },
): Promise<void> {
  if ((await named(admin, 'routers', ROUTER)) !== undefined) return
  const outside = await wanted(admin, 'networks', external)
  const inside = await wanted(admin, 'networks', network)
  const { subnets } = await callApi<{ subnets: readonly Named[] }>(admin, {
    method: 'GET',
    path: `${NETWORK}/subnets?network_id=${inside.id}`,
  })
  const { router } = await callApi<{ router: Named }>(admin, {
    method: 'POST',
    path: `${NETWORK}/routers`,
    body: { router: { name: ROUTER, external_gateway_info: { network_id: outside.id } } },
  })
  for (const { id } of subnets)
    await callApi(admin, {
      method: 'PUT',
      path: `${NETWORK}/routers/${router.id}/add_router_interface`,
      body: { subnet_id: id },
    })
}

/** Afterwards the user's server has a floating IP, and SSH and pings reach every server of the user's default group. */
export async function ensureFloatingIp(
  user: Session,
  server: string,
  external: string,
): Promise<void> {
  await letIn(user)
  const { servers } = await callApi<{ servers: readonly Named[] }>(user, {
    method: 'GET',
    path: `/compute/v2.1/servers?name=^${server}$`,
  })
  const { ports } = await callApi<{ ports: readonly Port[] }>(user, {
    method: 'GET',
    path: `${NETWORK}/ports?device_id=${servers[0]?.id ?? ''}`,
  })
  const [port] = ports
  if (port === undefined) throw new Error(`Server ${server} has no port`)
  const { floatingips } = await callApi<{ floatingips: readonly unknown[] }>(user, {
    method: 'GET',
    path: `${NETWORK}/floatingips?port_id=${port.id}`,
  })
  if (floatingips.length > 0) return
  const { id } = await wanted(user, 'networks', external)
  const floatingip = { floating_network_id: id, port_id: port.id }
  await callApi(user, { method: 'POST', path: `${NETWORK}/floatingips`, body: { floatingip } })
}

async function letIn(user: Session): Promise<void> {
  const group = await wanted(user, 'security-groups', 'default')
  const path = `${NETWORK}/security-group-rules`
  const { security_group_rules: rules } = await callApi<{
    security_group_rules: readonly { protocol: string | null; remote_ip_prefix: string | null }[]
  }>(user, { method: 'GET', path: `${path}?security_group_id=${group.id}&direction=ingress` })
  for (const parts of LET_IN) {
    if (rules.some(({ protocol }) => protocol === parts.protocol)) continue
    const rule = { ...parts, security_group_id: group.id, direction: 'ingress', ethertype: 'IPv4' }
    await callApi(user, { method: 'POST', path, body: { security_group_rule: rule } })
  }
}

async function wanted(session: Session, path: string, name: string): Promise<Named> {
  const found = await named(session, path, name)
  if (found === undefined) throw new Error(`There is no ${name} among the ${path}`)
  return found
}

async function named(session: Session, path: string, name: string): Promise<Named | undefined> {
  const answer = await callApi<Readonly<Record<string, readonly Named[]>>>(session, {
    method: 'GET',
    path: `${NETWORK}/${path}?name=${name}`,
  })
  return answer[path.replaceAll('-', '_')]?.[0]
}
