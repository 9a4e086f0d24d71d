import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { programPath } from '#deploy/process/find-program.ts'
import { ROUTER_INTERFACE } from '#drivers/ovn/northbound/network-index.ts'
import type { WirePort } from '#openapi/wire/network.ts'
import {
  EMPTY_STATE,
  wireGroup,
  wireNetwork,
  wirePort,
  wireRouter,
  wireRule,
  wireSubnet,
} from '../env/network-state.ts'
import { type Endpoint, OvnWorld } from './ovn-world.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: guests get their IPv6 addresses, routes and DNS servers in each address mode of a subnet.

const why = whyNoGuests([
  ...['ovs-vswitchd', 'ovn-northd', 'ovn-controller'],
  ...['busybox', 'dhclient', 'ethtool', 'ip', 'python3'],
])
const MTU = 1_442
const NAME_SERVER = 'fd75::53'
/** What dhclient calls with its answers. */
const SCRIPT = `#!/bin/sh
case "$reason" in
  BOUND6 | RENEW6) [ -z "$new_ip6_address" ] || ip address replace "$new_ip6_address/128" dev "$interface" nodad
    echo "address=$new_ip6_address dns=$new_dhcp6_name_servers search=$new_dhcp6_domain_search" ;;
esac >>"$(dirname "$0")/$interface.$OWNER"
`

/** Asks for routers, and prints the first advertisement: neither the kernel nor busybox shows all that it holds. */
const ASK_ROUTER = `
import socket, sys
link = socket.if_nametoindex('eth0')
sock = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
sock.settimeout(1)
while True:
    sock.sendto(bytes([133] + [0] * 7), ('ff02::2', 0, 0, link))
    try:
        while (packet := sock.recv(2000))[0] != 134: pass
        sys.exit(print(packet.hex()))
    except TimeoutError: pass
`
/** Options of an advertisement: RFC 4861, section 4.6, and RFC 8106, section 5. */
const [PREFIX_OPTION, MTU_OPTION, RDNSS_OPTION, DNSSL_OPTION] = [3, 5, 25, 31] as const

const router = wireRouter()
const group = wireGroup(
  wireRule({ direction: 'egress', version: 6 }),
  wireRule({ version: 6, protocol: 58 }),
)

/** A network with one IPv6 subnet of this mode, which the router advertises, and a port on it. */
function networkOf(number: number, mode: 'slaac' | 'dhcpv6-stateful' | 'dhcpv6-stateless') {
  const network = wireNetwork({ mtu: MTU, dnsDomain: 'six.example' })
  const prefix = `fd75:${number}::`
  const subnet = wireSubnet(network, `${prefix}/64`, {
    ...{ gateway: `${prefix}1`, ipv6AddressMode: mode, ipv6RaMode: mode },
    dnsServers: [NAME_SERVER],
  })
  const own = wirePort(subnet, `${prefix}11`, { securityGroupIds: [group.id], dnsName: 'guest' })
  const address = mode === 'dhcpv6-stateful' ? `${prefix}11` : `${prefix}${interfaceId(own.mac)}`
  const port: WirePort = { ...own, fixedIps: [{ subnetId: subnet.id, address }] }
  const owner = { deviceId: router.id, deviceOwner: ROUTER_INTERFACE, hasPortSecurity: false }
  const gateway = wirePort(subnet, `${prefix}1`, owner)
  return { network, subnet, port, gateway, address }
}

/** The last half of the address that a guest makes of its MAC address (RFC 4291, appendix A). */
function interfaceId(mac: string): string {
  const bytes = mac.split(':').map((byte) => Number.parseInt(byte, 16))
  const all = [bytes[0]! ^ 2, bytes[1]!, bytes[2]!, 0xff, 0xfe, ...bytes.slice(3)]
  const groups = [0, 2, 4, 6].map((at) => ((all[at]! << 8) | all[at + 1]!).toString(16))
  return groups.join(':')
}

/** By type, each with its type and length; after the 16 bytes of an advertisement itself. */
function optionsOf(packet: Buffer): ReadonlyMap<number, Buffer> {
  const options = new Map<number, Buffer>()
  for (let at = 16; at < packet.length; at += 8 * packet[at + 1]!)
    options.set(packet[at]!, packet.subarray(at, at + 8 * packet[at + 1]!))
  return options
}

const slaac = networkOf(1, 'slaac')
const stateful = networkOf(2, 'dhcpv6-stateful')
const stateless = networkOf(3, 'dhcpv6-stateless')
const ALL = [slaac, stateful, stateless]

describe.skipIf(why !== undefined)(
  `IPv6 of guests${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let world: OvnWorld
    let ends: ReadonlyMap<object, Endpoint>

    beforeAll(async () => {
      world = await OvnWorld.start()
      const ports = ALL.flatMap(({ port, gateway }) => [port, gateway])
      const [networks, subnets] = [ALL.map((each) => each.network), ALL.map((each) => each.subnet)]
      const parts = { networks, subnets, ports, routers: [router], securityGroups: [group] }
      await world.engine.apply({ ...EMPTY_STATE, ...parts }, AbortSignal.timeout(60_000))
      await writeFile(join(world.directory, 'dhclient.sh'), SCRIPT, { mode: 0o700 })
      const plug = async (each: (typeof ALL)[number], index: number) =>
        [each, await world.plug(world.hosts[index % 2]!, each.port)] as const
      ends = new Map(await Promise.all(ALL.map(plug)))
    }, 120_000)
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]()
    })

    const sh = (guest: Endpoint, command: string) => guest.run('sh', '-c', command)
    /** Afterwards the guest has asked for routers again, as one that boots does. */
    const askRouters = async (each: (typeof ALL)[number]) => {
      await expect.poll(() => world.bindings.get(each.port.id)?.isUp).toBe(true)
      const guest = ends.get(each)!
      await sh(guest, 'echo 2 >/proc/sys/net/ipv6/conf/eth0/accept_ra')
      await guest.run('ip', 'link', 'set', 'eth0', 'down')
      await guest.run('ip', 'link', 'set', 'eth0', 'up')
      return guest
    }
    const addressesOf = (guest: Endpoint) =>
      guest.run('ip', '-6', '-o', 'address', 'show', 'dev', 'eth0', 'scope', 'global')
    const routesOf = (guest: Endpoint) => guest.run('ip', '-6', 'route', 'show', 'default')
    const mtuOf = (guest: Endpoint) => sh(guest, 'cat /proc/sys/net/ipv6/conf/eth0/mtu')
    /** What a DHCPv6 client gets. */
    const answered = async (guest: Endpoint, how: '-1' | '-S', owner: string) => {
      const place = (name: string) => join(world.directory, name)
      const files = `-lf ${place(`${owner}.leases`)} -pf ${place(`${owner}.pid`)}`
      const script = `-sf ${place('dhclient.sh')} -e OWNER=${owner} -e PATH=$PATH`
      await sh(
        guest,
        `${programPath('dhclient')} -6 ${how} ${files} ${script} eth0 >/dev/null 2>&1`,
      )
      return sh(guest, `cat ${place(`eth0.${owner}`)}`)
    }

    test('a guest makes its address of the prefix that the router advertises, with MTU and route', async () => {
      const guest = await askRouters(slaac)

      await expect.poll(() => addressesOf(guest)).toContain(`${slaac.address}/64`)
      expect(await mtuOf(guest)).toBe(String(MTU))
      expect(await routesOf(guest)).toMatch(/^default via fe80::.* proto ra/)
      await expect.poll(() => guest.pings('fd75:1::1')).toBe(true)
    })

    test('a guest gets its address by DHCPv6, and derives no address itself', async () => {
      const guest = await askRouters(stateful)
      await expect.poll(() => routesOf(guest)).toMatch(/^default via fe80::.* proto ra/)
      expect(await addressesOf(guest)).toBe('')

      const text = await answered(guest, '-1', 'stateful')

      expect(text).toBe(`address=${stateful.address} dns=${NAME_SERVER} search=`)
      expect(await mtuOf(guest)).toBe(String(MTU))
      await expect.poll(() => guest.pings('fd75:2::1')).toBe(true)
    })

    test('a guest makes its address itself, and gets the rest by DHCPv6', async () => {
      const guest = await askRouters(stateless)
      await expect.poll(() => addressesOf(guest)).toContain(`${stateless.address}/64`)

      const text = await answered(guest, '-S', 'stateless')

      expect(text).toBe(`address= dns=${NAME_SERVER} search=`)
      await expect.poll(() => guest.pings('fd75:3::1')).toBe(true)
    })

    test.each([
      ['slaac', slaac, { isManaged: false, hasOther: false, isOwn: true }],
      ['dhcpv6-stateful', stateful, { isManaged: true, hasOther: false, isOwn: false }],
      ['dhcpv6-stateless', stateless, { isManaged: false, hasOther: true, isOwn: true }],
    ])('the router of %s advertises prefix, MTU, name server and domain', async (_, each, how) => {
      const text = await ends.get(each)!.run('python3', '-c', ASK_ROUTER)
      const packet = Buffer.from(text, 'hex')
      const options = optionsOf(packet)
      const prefix = options.get(PREFIX_OPTION)!

      expect({
        isManaged: (packet[5]! & 0x80) !== 0,
        hasOther: (packet[5]! & 0x40) !== 0,
        isOwn: (prefix[3]! & 0x40) !== 0,
      }).toEqual(how)
      expect(prefix[2]).toBe(64)
      expect(prefix.subarray(16, 24).toString('hex')).toMatch(/^fd75000[123]0{8}$/)
      expect(options.get(MTU_OPTION)?.readUInt32BE(4)).toBe(MTU)
      expect(options.get(RDNSS_OPTION)?.subarray(8).toString('hex')).toMatch(/^fd750+53$/)
      const domains = options.get(DNSSL_OPTION)!.subarray(8).toString('latin1')
      expect(domains.replace(/\0+$/, '')).toBe('\u0003six\u0007example')
    })

    test('the router joins the networks', async () => {
      await expect.poll(() => ends.get(slaac)!.pings(stateful.address)).toBe(true)
      await expect.poll(() => ends.get(stateless)!.pings(slaac.address)).toBe(true)
    })
  },
)
