import { h } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from './api.js'
import { Acts, Heading, Loaded, path, useData, word } from './parts.js'
import { Preview } from './preview.js'

/** A form for a server. While an operator fills it in, it shows where the server would go, and why not elsewhere. */
export function Create({ session }) {
  const data = useData(async (signal) => {
    const get = (path) => ask(path, { signal })
    const [{ flavors }, { images }, { networks }, { keypairs }, { availabilityZoneInfo: zones }] = await Promise.all([
      get('compute/v2.1/flavors/detail'),
      get('image/v2/images?status=active&sort=name:asc'),
      get('networking/v2.0/networks'),
      get('compute/v2.1/os-keypairs'),
      get('compute/v2.1/os-availability-zone'),
    ])
    return { flavors, images, networks, keys: keypairs.map(({ keypair }) => keypair), zones: zones.map(({ zoneName }) => zoneName) }
  }, [])
  return [h(Heading, null, 'Create a server'), h(Loaded, { data, show: (choices) => h(Form, { choices, session }) })]
}

const optionOf = ({ id, name }) => [id, name]

function Form({ choices, session }) {
  const { flavors, images, networks, keys, zones } = choices
  const [asked, setAsked] = useState({ name: '', flavor: flavors[0]?.id, image: images[0]?.id, network: networks.find((network) => !network['router:external'])?.id, key: '', zone: '' })
  const field = (name, label, options) =>
    h(
      'label',
      { key: name },
      label,
      h(
        'select',
        { value: asked[name], onChange: ({ target }) => setAsked({ ...asked, [name]: target.value }) },
        options.map(([value, text]) => h('option', { key: value, value, selected: value === asked[name] }, text)),
      ),
    )
  const create = async () => {
    const { server } = await ask('compute/v2.1/servers', { method: 'POST', body: { server: bodyOf(asked) } })
    location.hash = path('servers', server.id)
  }
  if (flavors.length === 0 || images.length === 0)
    return h('p', null, 'There is no flavor or no image to choose. An administrator makes flavors; ', h('code', null, 'openstack image create'), ' brings an image.')
  return h(
    'div',
    { class: 'create' },
    h(
      'form',
      { onSubmit: (event) => event.preventDefault() },
      h('label', null, 'Name', h('input', { value: asked.name, required: true, maxLength: 255, onInput: ({ target }) => setAsked({ ...asked, name: target.value }) })),
      field('flavor', 'Flavor', flavors.map(({ id, name, vcpus, ram, disk }) => [id, `${name}: ${vcpus} vCPUs, ${ram} MiB, ${disk} GiB`])),
      field('image', 'Image', images.map(optionOf)),
      field('network', 'Network', [['', 'none'], ...networks.map(optionOf)]),
      field('key', 'Key pair', [['', 'none'], ...keys.map(({ name }) => [name, name])]),
      field('zone', 'Zone', [['', 'any'], ...zones.map((zone) => [zone, zone])]),
      asked.name.trim() !== '' && h(Acts, { acts: [{ label: 'Create', command: commandOf(asked), act: create }] }),
    ),
    session.is_admin && h(Preview, { body: dryRun(asked) }),
  )
}

function bodyOf({ name, flavor, image, network, key, zone }) {
  return {
    name,
    flavorRef: flavor,
    imageRef: image,
    networks: network === '' ? 'none' : [{ uuid: network }],
    ...(key !== '' && { key_name: key }),
    ...(zone !== '' && { availability_zone: zone }),
  }
}

function commandOf({ name, flavor, image, network, key, zone }) {
  const options = [`--flavor ${word(flavor)}`, `--image ${image}`, network === '' ? '--nic none' : `--network ${network}`]
  if (key !== '') options.push(`--key-name ${word(key)}`)
  if (zone !== '') options.push(`--availability-zone ${word(zone)}`)
  return `openstack server create ${options.join(' ')} ${word(name)}`
}

const dryRun = ({ flavor, image, network, zone }) => ({ flavor, image, ...(network !== '' && { networks: [network] }), ...(zone !== '' && { zone }) })
