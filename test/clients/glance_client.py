"""Reads and makes metadata definitions with python-glanceclient, as Horizon does. Its user is an administrator."""
import os

from glanceclient import client, exc
from keystoneauth1 import session
from keystoneauth1.identity import v3

from steps import tell

FLAVOR = 'OS::Nova::Flavor'
auth = v3.Password(
    auth_url=os.environ['OS_AUTH_URL'],
    username=os.environ['OS_USERNAME'],
    password=os.environ['OS_PASSWORD'],
    project_name=os.environ['OS_PROJECT_NAME'],
    user_domain_id='default',
    project_domain_id='default',
)
glance = client.Client('2', session=session.Session(auth=auth), region_name='RegionOne')


def names(**filters):
    return sorted(each.namespace for each in glance.metadefs_namespace.list(**filters))


def refused(act, error):
    try:
        act()
    except error:
        return True
    return False


seen = {
    'flavors': names(filters={'resource_types': [FLAVOR]}),
    'kinds': sorted(each.name for each in glance.metadefs_resource_type.list()),
    'watchdog': dict(glance.metadefs_namespace.get(
        'OS::Compute::Watchdog', resource_type=FLAVOR).properties),
    'pages': len(list(glance.metadefs_namespace.list(page_size=2))),
    'protected': refused(
        lambda: glance.metadefs_namespace.delete('OS::Compute::Watchdog'), exc.HTTPForbidden),
}

made = glance.metadefs_namespace.create(
    namespace='Mine', display_name='My own', visibility='public', description='Of a test.')
glance.metadefs_resource_type.associate('Mine', name=FLAVOR, prefix='mine:')
glance.metadefs_property.create('Mine', name='colour', title='Colour', type='string')
glance.metadefs_object.create('Mine', name='Box', required=['w'], properties={
    'w': {'title': 'Width', 'type': 'integer'}})
glance.metadefs_tag.create('Mine', 'one')
list(glance.metadefs_tag.create_multiple('Mine', tags=['two', 'three']))
glance.metadefs_namespace.update('Mine', display_name='Still mine')
whole = glance.metadefs_namespace.get('Mine')
seen['made'] = {
    'title': whole.display_name,
    'kinds': [each['name'] for each in whole.resource_type_associations],
    'properties': sorted(whole.properties),
    'objects': [each.name for each in glance.metadefs_object.list('Mine')],
    'tags': sorted(each.name for each in glance.metadefs_tag.list('Mine')),
}
glance.metadefs_object.update('Mine', 'Box', name='Crate')
glance.metadefs_property.update('Mine', 'colour', name='hue', title='Hue', type='string')
seen['changed'] = [
    glance.metadefs_object.get('Mine', 'Crate').name,
    glance.metadefs_property.get('Mine', 'hue').title,
]
glance.metadefs_tag.delete('Mine', 'two')
glance.metadefs_object.delete('Mine', 'Crate')
glance.metadefs_property.delete_all('Mine')
glance.metadefs_resource_type.deassociate('Mine', FLAVOR)
glance.metadefs_namespace.delete('Mine')
seen['gone'] = refused(lambda: glance.metadefs_namespace.get('Mine'), exc.HTTPNotFound)
tell(seen)
