import { h } from 'preact'
import { ask } from './api.js'
import { ConsoleLog } from './console-log.js'
import { Decisions, Waterfall } from './decisions.js'
import { IntentOf } from './intents.js'
import { Acts, Command, Facts, Heading, Loaded, link, path, State, Table, Time, useData, word } from './parts.js'
import { Timeline } from './timeline.js'

const EVERY_MS = 3_000
const TRACE_EVERY_MS = 15_000
/** What a user does to a server, by the status in which it is possible. */
const ACTS = [
  { label: 'Start', in: ['SHUTOFF'], body: { 'os-start': null }, command: 'start' },
  { label: 'Stop', in: ['ACTIVE'], body: { 'os-stop': null }, command: 'stop' },
  { label: 'Reboot', in: ['ACTIVE', 'SHUTOFF'], body: { reboot: { type: 'SOFT' } }, command: 'reboot' },
  { label: 'Pause', in: ['ACTIVE'], body: { pause: null }, command: 'pause' },
  { label: 'Resume', in: ['PAUSED'], body: { unpause: null }, command: 'unpause' },
  { label: 'Confirm', in: ['VERIFY_RESIZE'], body: { confirmResize: null }, command: 'resize confirm' },
  { label: 'Revert', in: ['VERIFY_RESIZE'], body: { revertResize: null }, command: 'resize revert' },
]

/** A server: what it is, what was done to it, why it is where it is, and what its user does to it. */
export function Server({ id, session }) {
  const at = `compute/v2.1/servers/${encodeURIComponent(id)}`
  const data = useData((signal) => ask(at, { signal }), [id], EVERY_MS)
  const trace = useData(async (signal) => (session.is_admin ? ask(`federation/v1/servers/${encodeURIComponent(id)}/trace`, { signal }) : undefined), [id], TRACE_EVERY_MS)
  const name = data.value?.server.name ?? id
  return [
    h(Heading, null, `Server ${name}`),
    h(Loaded, { data, show: ({ server }) => [h(ServerFacts, { server }), h(ServerActs, { at, server, reload: data.reload }), session.is_admin && h('p', null, link(path('servers', id, 'move'), 'Move it to another host or cell'))] }),
    h(IntentOf, { server: id }),
    h(Devices, { id, at }),
    h(ConsoleLog, { id, at }),
    h(Timeline, { id, at, session, decisions: trace.value?.decisions }),
    session.is_admin && h(Place, { id, trace }),
  ]
}

function ServerFacts({ server }) {
  const { flavor, addresses, metadata, fault, image } = server
  const facts = [
    ['Status', [h(State, null, server.status), server['OS-EXT-STS:task_state'] && ` ${server['OS-EXT-STS:task_state']}`]],
    ['Id', h('code', null, server.id)],
    ['Flavor', `${flavor.original_name}: ${flavor.vcpus} vCPUs, ${flavor.ram} MiB, ${flavor.disk} GiB`],
    ['Image', h('code', null, image?.id ?? 'none')],
    ['Zone', server['OS-EXT-AZ:availability_zone'] || 'not known yet'],
    ['Host', server['OS-EXT-SRV-ATTR:hypervisor_hostname']],
    ['Created', h(Time, { at: server.created })],
    ['Addresses', Object.entries(addresses).map(([network, each]) => h('div', { key: network }, `${network}: ${each.map(({ addr }) => addr).join(', ')}`))],
    ['Key', server.key_name],
    ['Metadata', Object.entries(metadata).map(([key, value]) => h('div', { key }, `${key} = ${value}`))],
  ]
  return [fault !== undefined && h('p', { class: 'problem' }, fault.message), h(Facts, { facts })]
}

function ServerActs({ at, server, reload }) {
  const act = async (body) => {
    await ask(`${at}/action`, { method: 'POST', body })
    reload()
  }
  const remove = async () => {
    await ask(at, { method: 'DELETE' })
    location.hash = path('servers')
  }
  const ordinary = ACTS.filter((each) => each.in.includes(server.status)).map(({ label, body, command }) => {
    return { label, command: `openstack server ${command} ${server.id}`, act: () => act(body) }
  })
  const question = `Delete ${server.name}? Its disk is lost.`
  const last = { label: 'Delete', isDangerous: true, command: `openstack server delete ${server.id}`, ask: question, act: remove }
  return h(Acts, { acts: [...ordinary, ...(server.status === 'ACTIVE' ? consolesOf(at, server) : []), last] })
}

function consolesOf(at, server) {
  const open = (protocol, type) => async () => {
    // Opened at once: browsers allow windows only while a click is handled.
    const tab = window.open('about:blank')
    try {
      const { remote_console: console } = await ask(`${at}/remote-consoles`, { method: 'POST', body: { remote_console: { protocol, type } } })
      tab.location = console.url
    } catch (error) {
      tab?.close()
      throw error
    }
  }
  return [
    { label: 'Screen', command: `openstack console url show ${server.id}`, act: open('vnc', 'novnc') },
    { label: 'Serial console', command: `openstack console url show --serial ${server.id}`, act: open('serial', 'serial') },
  ]
}

/** Its ports and volumes. */
function Devices({ id, at }) {
  const load = async (signal) => {
    const [{ ports }, { volumeAttachments: volumes }] = await Promise.all([
      ask(`networking/v2.0/ports?device_id=${encodeURIComponent(id)}`, { signal }),
      ask(`${at}/os-volume_attachments`, { signal }),
    ])
    return { ports, volumes: volumes.map((each) => ({ ...each, id: each.volumeId })) }
  }
  const data = useData(load, [id], EVERY_MS * 2)
  const yes = (is) => (is ? 'yes' : 'no')
  return h(
    'section',
    { 'aria-label': 'Ports and volumes' },
    h('h2', null, 'Ports and volumes'),
    h(Loaded, {
      data,
      show: ({ ports, volumes }) => [
        h(Table, {
          caption: 'Ports',
          none: 'It has no port.',
          rows: ports,
          columns: [
            ['Port', ({ id: port, name }) => h('code', null, name || port)],
            ['Addresses', ({ fixed_ips: ips }) => ips.map(({ ip_address: address }) => address).join(', ')],
            ['MAC', ({ mac_address: mac }) => h('code', null, mac)],
            ['Status', ({ status }) => h(State, null, status)],
            ['Filtered', ({ port_security_enabled: isFiltered }) => yes(isFiltered)],
          ],
        }),
        h(Table, {
          caption: 'Volumes',
          none: 'It has no volume.',
          rows: volumes,
          columns: [
            ['Volume', ({ volumeId }) => link(path('volumes', volumeId), volumeId)],
            ['Device', ({ device }) => device],
            ['Deleted with the server', ({ delete_on_termination: goes }) => yes(goes)],
          ],
        }),
      ],
    }),
  )
}

/** For operators: the clouds above and below, the decisions and the steps of the boot. */
function Place({ id, trace }) {
  return h(
    'section',
    { 'aria-label': 'Place' },
    h('h2', null, 'Place'),
    h(Loaded, {
      data: trace,
      show: ({ above, below, cell, host, decisions, phases }) => [
        h('p', null, 'In cell ', cell === null ? 'none' : link(path('cells', cell), cell), `, on host ${host ?? 'none'}. The same from the command line: `, h(Command, null, `./weir why ${word(id)}`)),
        above.length + below.length > 0 && h(Table, {
          caption: 'The same server in other clouds',
          none: '',
          rows: [...above.map((each) => ({ id: each, where: 'above' })), ...below.map((each) => ({ id: each, where: 'below' }))],
          columns: [['Cloud', ({ where }) => where], ['Id', ({ id: other }) => h('code', null, other)]],
        }),
        h(Waterfall, { phases }),
        h(Decisions, { decisions }),
      ],
    }),
  )
}
