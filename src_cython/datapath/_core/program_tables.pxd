from datapath._core.context cimport Net
from datapath._core.program cimport Table


cdef Table* table_load(Net* net, int family, object compiled) except NULL
cdef void table_free(Table* table) noexcept nogil
